// Client and server of quic-go. The stack has CUBIC but always chooses its Reno; edits.json lets DUMBBELL_CC choose.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

const (
	protocol   = "dumbbell"
	serverName = "server.test"
	// Flow control: 2.6 Gbit/s at 100 ms, so that congestion control decides.
	window = 32 << 20
	block  = 64 << 10
	// How long a connection and its qlog may take to end.
	farewell = 5 * time.Second
)

var controllers = []string{"reno", "cubic"}

func main() {
	if len(os.Args) < 2 || os.Args[1] != "server" && os.Args[1] != "client" {
		wrong("the first word is server or client")
	}
	options := flag.NewFlagSet(os.Args[1], flag.ContinueOnError)
	options.SetOutput(io.Discard)
	listen := options.String("listen", "", "")
	connect := options.String("connect", "", "")
	cc := options.String("cc", controllers[0], "")
	cert := options.String("cert", "", "")
	key := options.String("key", "", "")
	log := options.String("qlog", "", "")
	bytes := options.Uint64("bytes", 0, "")
	if err := options.Parse(os.Args[2:]); err != nil {
		wrong(err.Error())
	}
	if options.NArg() > 0 {
		wrong(fmt.Sprintf("no option '%s'", options.Arg(0)))
	}
	end, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	events := &events{path: *log}
	if os.Args[1] == "server" {
		if !slices.Contains(controllers, *cc) {
			wrong(fmt.Sprintf("cc '%s' is not one of %s", *cc, strings.Join(controllers, ", ")))
		}
		os.Setenv("DUMBBELL_CC", *cc)
		serve(end, address("--listen", *listen), *cert, *key, events)
	} else {
		fetch(end, address("--connect", *connect), *bytes, events)
	}
	events.finish()
}

func serve(end context.Context, at netip.AddrPort, cert, key string, events *events) {
	certificate, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		failed(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}}
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		failed(err)
	}
	transport := &quic.Transport{Conn: socket}
	listener, err := transport.Listen(config, settings(events))
	if err != nil {
		failed(err)
	}
	for {
		connection, err := listener.Accept(end)
		if err != nil {
			break
		}
		go answer(connection)
	}
	listener.Close()
	transport.Close()
}

// answer sends what each stream of a connection asks for, until it ends.
func answer(connection *quic.Conn) {
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			return
		}
		go send(stream)
	}
}

func send(stream *quic.Stream) {
	request := make([]byte, 8)
	if _, err := io.ReadFull(stream, request); err != nil {
		return
	}
	left, zeros := binary.BigEndian.Uint64(request), make([]byte, block)
	endless := left == 0
	for endless || left > 0 {
		size := uint64(block)
		if !endless {
			size = min(size, left)
		}
		if _, err := stream.Write(zeros[:size]); err != nil {
			return
		}
		left -= size
	}
	stream.Close()
}

func fetch(end context.Context, at netip.AddrPort, bytes uint64, events *events) {
	config := &tls.Config{InsecureSkipVerify: true, ServerName: serverName, NextProtos: []string{protocol}}
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		failed(err)
	}
	transport := &quic.Transport{Conn: socket}
	connection, err := transport.Dial(end, net.UDPAddrFromAddrPort(at), config, settings(events))
	if err != nil {
		if end.Err() == nil {
			failed(err)
		}
		return
	}
	context.AfterFunc(end, func() { connection.CloseWithError(0, "") })
	if received, err := read(connection, bytes); end.Err() == nil {
		if err != nil {
			failed(err)
		}
		if bytes > 0 && received != bytes {
			failed(fmt.Errorf("%d bytes came", received))
		}
	}
	connection.CloseWithError(0, "")
	transport.Close()
}

func read(connection *quic.Conn, bytes uint64) (uint64, error) {
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return 0, err
	}
	if _, err := stream.Write(binary.BigEndian.AppendUint64(nil, bytes)); err != nil {
		return 0, err
	}
	stream.Close()
	received := uint64(0)
	for space := make([]byte, block); ; {
		size, err := stream.Read(space)
		received += uint64(size)
		if err == io.EOF {
			return received, nil
		}
		if err != nil {
			return received, err
		}
	}
}

func settings(events *events) *quic.Config {
	config := &quic.Config{
		InitialStreamReceiveWindow:     window,
		MaxStreamReceiveWindow:         window,
		InitialConnectionReceiveWindow: window,
		MaxConnectionReceiveWindow:     window,
	}
	if events.path != "" {
		config.Tracer = events.trace
	}
	return config
}

// events is the qlog of the first connection.
type events struct {
	path    string
	once    sync.Once
	written chan struct{}
}

func (e *events) trace(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	var trace qlogwriter.Trace
	e.once.Do(func() {
		file, err := os.Create(e.path)
		if err != nil {
			failed(err)
		}
		e.written = make(chan struct{})
		buffer := &complete{bufio.NewWriterSize(file, 1<<16), file, e.written}
		sequence := qlogwriter.NewConnectionFileSeq(buffer, isClient, id, []string{qlog.EventSchema})
		go sequence.Run()
		trace = sequence
	})
	return trace
}

// finish waits until the qlog is complete.
func (e *events) finish() {
	if e.written == nil {
		return
	}
	select {
	case <-e.written:
	case <-time.After(farewell):
		failed(fmt.Errorf("%s is not complete", e.path))
	}
}

// complete closes a file after what is buffered, and says so.
type complete struct {
	*bufio.Writer
	file *os.File
	done chan struct{}
}

func (c *complete) Close() error {
	defer close(c.done)
	if err := c.Flush(); err != nil {
		return err
	}
	return c.file.Close()
}

func address(name, text string) netip.AddrPort {
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		wrong(fmt.Sprintf("%s is an address and a port such as 10.0.0.1:4433, got '%s'", name, text))
	}
	return at
}

func wrong(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}

func failed(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
