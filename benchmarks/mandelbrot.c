/* The peer of benchmarks/mandelbrot.py: escape counts in C, rows shared by OpenMP, LANES pixels side by side.

   T is float or double, I an integer as wide. Loops over lanes have a fixed length and no branch, so gcc makes vectors
   of them (AVX-512 where the machine has it), and unrolls them, so that the lanes stay in registers. */
#include <stdint.h>
#include <string.h>

#define BLIND 8

static int out(T x, T y) { return !(x * x + y * y <= 4); }

/* From z = (x, y) after k iterations: the count of a pixel that is followed alone. */
static int follow(T x, T y, T cx, T cy, int k, int iterations) {
    while (k < iterations && !out(x, y)) {
        T next = x * x - y * y + cx;
        y = (x + x) * y + cy;
        x = next;
        k++;
    }
    return k;
}

void scalar(const T *xs, const T *ys, long columns, long rows, int iterations, int32_t *counts) {
#pragma omp parallel for schedule(dynamic, 1)
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < columns; c++) counts[r * columns + c] = follow(0, 0, xs[c], ys[r], 0, iterations);
}

/* A mask in each lane; done when none is left. */
void lanes(const T *xs, const T *ys, long columns, long rows, int iterations, int32_t *counts) {
#pragma omp parallel for schedule(dynamic, 1)
    for (long r = 0; r < rows; r++)
        for (long begin = 0; begin < columns; begin += LANES) {
            T cx[LANES], zx[LANES], zy[LANES], cy = ys[r];
            I inside[LANES], count[LANES];
            long n = columns - begin < LANES ? columns - begin : LANES;
            for (int j = 0; j < LANES; j++) {
                cx[j] = xs[begin + (j < n ? j : n - 1)];
                zx[j] = zy[j] = 0, inside[j] = -1, count[j] = 0;
            }
            for (int k = 0; k < iterations; k++) {
                I any = 0;
                for (int j = 0; j < LANES; j++) {
                    T x2 = zx[j] * zx[j], y2 = zy[j] * zy[j];
                    inside[j] &= -(I)(x2 + y2 <= 4);
                    count[j] -= inside[j];
                    zy[j] = (zx[j] + zx[j]) * zy[j] + cy;
                    zx[j] = x2 - y2 + cx[j];
                    any |= inside[j];
                }
                if (!any) break;
            }
            for (int j = 0; j < n; j++) counts[r * columns + begin + j] = count[j];
        }
}

/* BLIND iterations without a look; a lane that comes out escaped is followed alone, from where the block began. */
void speculative(const T *xs, const T *ys, long columns, long rows, int iterations, int32_t *counts) {
#pragma omp parallel for schedule(dynamic, 1)
    for (long r = 0; r < rows; r++)
        for (long begin = 0; begin < columns; begin += LANES) {
            T cx[LANES], cy[LANES], zx[LANES], zy[LANES], nx[LANES], ny[LANES];
            char alive[LANES];
            int left = columns - begin < LANES ? columns - begin : LANES, n = left, k = 0;
            for (int j = 0; j < LANES; j++) {
                alive[j] = j < n;
                cx[j] = j < n ? xs[begin + j] : 0, cy[j] = j < n ? ys[r] : 0, zx[j] = zy[j] = 0;
            }
            for (; k + BLIND <= iterations && left; k += BLIND) {
                int escaped = 0;
                for (int j = 0; j < LANES; j++) {
                    T x = zx[j], y = zy[j];
                    for (int i = 0; i < BLIND; i++) {
                        T next = x * x - y * y + cx[j];
                        y = (x + x) * y + cy[j];
                        x = next;
                    }
                    nx[j] = x, ny[j] = y;
                }
                for (int j = 0; j < LANES; j++) escaped += out(nx[j], ny[j]);
                for (int j = 0; escaped && j < n; j++)
                    if (alive[j] && out(nx[j], ny[j])) {
                        counts[r * columns + begin + j] = follow(zx[j], zy[j], cx[j], cy[j], k, iterations);
                        alive[j] = 0, cx[j] = cy[j] = nx[j] = ny[j] = 0, left--;
                    }
                memcpy(zx, nx, sizeof zx), memcpy(zy, ny, sizeof zy);
            }
            for (int j = 0; j < n; j++)
                if (alive[j]) counts[r * columns + begin + j] = follow(zx[j], zy[j], cx[j], cy[j], k, iterations);
        }
}
