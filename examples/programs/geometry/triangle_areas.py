"""The areas, the normals and the volume of a mesh, from vertices and the indices of its faces."""

import numpy as np

SMALL = {"vertices": 20, "faces": 30}


def inputs(rng, vertices=20_000, faces=40_000):
    # Three different vertices each: the area of a face without any is not 0 if products are fused.
    corner = rng.integers(0, vertices, (faces, 1)) + np.array([0, 3, 7])
    return rng.normal(size=(vertices, 3)), corner % vertices


def program(np, vertices, faces):
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    normal = np.cross(b - a, c - a)
    length = np.sqrt((normal**2).sum(-1))
    return length.sum() / 2, normal / length[:, None], (a * np.cross(b, c)).sum() / 6


def torch(torch, vertices, faces):
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    normal = torch.linalg.cross(b - a, c - a)
    length = torch.sqrt((normal**2).sum(-1))
    volume = (a * torch.linalg.cross(b, c)).sum() / 6
    return length.sum() / 2, normal / length[:, None], volume


def numba(vertices, faces):
    area = volume = 0.0
    normal = np.empty((faces.shape[0], 3))
    for f in range(faces.shape[0]):
        a, b, c = vertices[faces[f, 0]], vertices[faces[f, 1]], vertices[faces[f, 2]]
        ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        length = np.sqrt(x * x + y * y + z * z)
        area += length / 2
        normal[f, 0], normal[f, 1], normal[f, 2] = x / length, y / length, z / length
        volume += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2])
        volume += a[2] * (b[0] * c[1] - b[1] * c[0])
    return area, normal, volume / 6
