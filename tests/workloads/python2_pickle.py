"""Writes the pickles that Python 2's cPickle (protocol 2) wrote for CIFAR-10: its opcodes, in its order."""

import struct


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value


def number(value):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    return b"M" + struct.pack("<H", value) if 0 <= value < 65536 else b"J" + struct.pack("<i", value)


def array(images, *, kind="u1", order=b"\x89"):
    reconstruct = b"cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\x00\x85q\tU\x01b\x87q\nRq\x0b"
    shape = b"".join(number(size) for size in images.shape) + b"\x86q\x0c"
    dtype = b"cnumpy\ndtype\nq\r" + text(kind) + b"q\x0eK\x00K\x01\x87q\x0fRq\x10"
    dtype += b"(K\x03U\x01|q\x11NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x12b"
    return reconstruct + b"(K\x01" + shape + dtype + order + text(images.numpy().tobytes()) + b"q\x13tb"


def batch(images, labels, *, data=None):
    """{"batch_label": …, "labels": […], "data": array, "filenames": […]}."""
    listed = b"]q\x05(" + b"".join(number(label) for label in labels) + b"e"
    head = b"\x80\x02}q\x01(U\x0bbatch_labelq\x02" + text("training batch 1 of 5") + b"q\x03U\x06labelsq\x04" + listed
    names = b"U\tfilenamesq\x14]q\x15(" + text("leptodactylus_pentadactylus_s_000004.png") + b"q\x16h\x16e"
    return head + b"U\x04dataq\x06" + (array(images) if data is None else data) + names + b"u."
