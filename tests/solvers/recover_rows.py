"""Find the bodies behind the matrix of a frictional problem: W = J J^T, each contact at two bodies.

python -m tests.solvers.recover_rows NESpheres_30_1.dat

Contacts of one body form a clique in the pattern of W, and each contact is in two cliques at most:
a cover of the pattern by such cliques says who touches whom. J, mass-normalised, then follows by
Levenberg-Marquardt. Written beside the data; a test holds J J^T against W.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.sparse import csr_matrix

from tests.solvers.test_mlcp import DATA, read_fc3d


def touching(w, n):
    """Contacts that share a body with each contact."""
    near = np.abs(w).reshape(n, 3, n, 3).max(axis=(1, 3)) > 1e-12
    np.fill_diagonal(near, False)
    return [set(np.flatnonzero(row).tolist()) for row in near]


def bodies_of(near):
    """Two bodies for each contact, by a cover of all pairs with cliques; by trial and error."""
    cliques: list[set[int]] = []
    of: list[list[int]] = [[] for _ in near]
    edges = [(i, j) for i, others in enumerate(near) for j in others if i < j]
    covered: set[tuple[int, int]] = set()

    def cover() -> bool:
        left = [e for e in edges if e not in covered]
        if not left:
            return True
        i, j = min(
            left, key=lambda e: (-len(of[e[0]]) - len(of[e[1]]), len(near[e[0]] & near[e[1]]))
        )
        for one, two in ((i, j), (j, i)):
            for c in of[one]:
                if two not in cliques[c] and len(of[two]) < 2 and cliques[c] <= near[two]:
                    new = {(min(two, k), max(two, k)) for k in cliques[c]} - covered
                    cliques[c].add(two), of[two].append(c), covered.update(new)
                    if cover():
                        return True
                    cliques[c].discard(two), of[two].remove(c), covered.difference_update(new)
        if len(of[i]) < 2 and len(of[j]) < 2:
            cliques.append({i, j})
            of[i].append(len(cliques) - 1), of[j].append(len(cliques) - 1), covered.add((i, j))
            if cover():
                return True
            cliques.pop(), of[i].pop(), of[j].pop(), covered.discard((i, j))
        return False

    if not cover():
        raise ValueError("no bodies explain this matrix")
    count = len(cliques)
    for one in of:
        while len(one) < 2:
            one.append(count)
            count += 1
    return np.array(of), count


def square_root(w, ends, count, seed=0):
    """J (n, 6 count) with J J^T = w, contact i at the bodies ends[i]; damped Gauss-Newton."""
    n = len(w)
    own = np.zeros((n // 3, count), bool)
    own[np.arange(n // 3)[:, None], ends] = True
    mask = np.kron(own, np.ones((3, 6), bool))
    number = np.full(mask.shape, -1)
    number[mask] = np.arange(mask.sum())
    at = [(r, c) for r in range(n) for c in range(r, n) if (own[r // 3] & own[c // 3]).any()]
    first, second = np.array(at).T
    j = np.where(mask, np.random.default_rng(seed).normal(0.0, 0.3, mask.shape), 0.0)

    def wrong(j):
        return (j @ j.T - w)[first, second]

    left, damp = wrong(j), 1e-2
    for _ in range(300):
        rows, columns, values = [], [], []
        for k, (r, c) in enumerate(at):
            common = np.flatnonzero(mask[r] & mask[c])
            for one, other in ((r, c), (c, r)):
                rows += [k] * len(common)
                columns += number[one, common].tolist()
                values += j[other, common].tolist()
        slope = csr_matrix((values, (rows, columns)), shape=(len(at), mask.sum())).toarray()
        square = slope @ slope.T
        for _ in range(8):
            step = slope.T @ np.linalg.solve(square + damp * np.eye(len(at)), left)
            trial = j.copy()
            trial[mask] -= step
            new = wrong(trial)
            if new @ new < left @ left:
                j, left, damp = trial, new, 0.3 * damp
                break
            damp *= 4.0
        else:
            break
    return j, float(np.abs(left).max())


def main(name: str) -> None:
    """Write the ends and rows of one problem beside it."""
    w, _, mu = read_fc3d(name)
    ends, count = bodies_of(touching(w, len(mu)))
    j, left = square_root(0.5 * (w + w.T), ends, count)
    numbers = np.array(
        [
            np.hstack([j[3 * k : 3 * k + 3, 6 * b : 6 * b + 6] for b in ends[k]])
            for k in range(len(mu))
        ]
    )
    np.savez_compressed(DATA / name.replace(".dat", "-rows.npz"), ends=ends, J=numbers)
    print(f"{name}: {count} bodies, J J^T off by {left:.1e}")


if __name__ == "__main__":
    main(sys.argv[1])
