"""The server's certificate: valid from 2000 to 2099, since a guest's date is fixed.

RSA with 2048 bits and a fixed serial number: certificate and signature have the same length everywhere, so the packets
of a handshake do too.
"""

from pathlib import Path

from dumbbell.kernels.process import Tool, output, require
from dumbbell.publish import temporary
from dumbbell.stacks.store import CERTIFICATE, KEY

__all__ = ["OPENSSL", "make_certificate"]

OPENSSL = Tool("openssl", "to make a server's certificate", "openssl")
NAME = "server.test"
CONFIGURATION = f"""\
[ca]
default_ca = own
[own]
database = issued
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
x509_extensions = server
[any]
commonName = supplied
[server]
subjectAltName = DNS:{NAME}
[req]
distinguished_name = name
[name]
"""


def make_certificate(folder: Path) -> None:
    """Write a new key and its certificate into a folder. Raises ToolMissing, KernelError or OSError."""
    require(OPENSSL)
    with temporary("certificate") as work:
        (work / "configuration").write_text(CONFIGURATION, encoding="ascii")
        (work / "issued").touch()
        (work / "serial").write_text("01\n", encoding="ascii")
        # `req -x509` takes no date of its beginning before OpenSSL 3.4.
        for command in (
            "genrsa -out key.pem 2048",
            f"req -new -config configuration -key key.pem -subj /CN={NAME} -out request.pem",
            "ca -batch -selfsign -config configuration -keyfile key.pem -in request.pem -notext -out cert.pem "
            "-startdate 20000101000000Z -enddate 20991231235959Z",
        ):
            output(["openssl", *command.split()], cwd=work)
        for name in (CERTIFICATE, KEY):
            (folder / name).write_bytes((work / name).read_bytes())
