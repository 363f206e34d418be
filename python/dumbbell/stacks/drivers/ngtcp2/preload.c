// Preloaded into ngtcp2's example programs:
// - std::random_device takes its numbers from getrandom(2), which a guest seeds, and not from the processor's RDRAND,
//   which nothing can;
// - SIGTERM ends them as SIGINT does: connections are closed, the qlog is complete;
// - a client that did not get all bytes exits with status 1 and not with 0;
// - the server's first qlog gets the name in DUMBBELL_QLOG, and not that of a connection ID in a folder.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// The name is libstdc++'s: std::random_device::_M_getval().
unsigned int _ZNSt13random_device9_M_getvalEv(void *device)
{
	unsigned int value;

	(void)device;
	if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
		abort();
	return value;
}

static volatile sig_atomic_t terminated;
static int answered;

static void end(int number)
{
	(void)number;
	terminated = 1;
	raise(SIGINT);
}

// Stream 0 is the client's first request.
ssize_t nghttp3_conn_read_stream(void *connection, int64_t stream, const uint8_t *data, size_t length, int last)
{
	ssize_t (*original)(void *, int64_t, const uint8_t *, size_t, int) =
		(ssize_t(*)(void *, int64_t, const uint8_t *, size_t, int))dlsym(RTLD_NEXT, "nghttp3_conn_read_stream");

	answered |= last && stream == 0;
	return original(connection, stream, data, length, last);
}

__attribute__((destructor)) static void check(void)
{
	if (getenv("DUMBBELL_BYTES") && !answered && !terminated)
		_exit(1);
}

__attribute__((constructor)) static void begin(void)
{
	signal(SIGTERM, end);
}

FILE *fopen(const char *path, const char *mode)
{
	static const char *qlog;
	FILE *(*original)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
	const char *end = strrchr(path, '.');

	if (end && strcmp(end, ".sqlog") == 0 && getenv("DUMBBELL_QLOG")) {
		path = qlog ? "/dev/null" : getenv("DUMBBELL_QLOG");
		qlog = path;
	}
	return original(path, mode);
}
