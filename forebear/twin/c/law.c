/*
@about@
 */
#ifndef @NAME@_DECLARED
#define @NAME@_DECLARED

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { @NAME@_INPUTS = @inputs@, @NAME@_TARGETS = @targets@ };

/* In the order of x and of y; UTF-8. */
extern const char *const @name@_input_names[];
extern const char *const @name@_target_names[];

/* A draw y of the targets at inputs x, from latents z, one for each target; standard normal latents give the law.
   A category is its code; NaN is a missing cell where the comment above says that cells may be missing. */
void @name@_push(const double *x, const double *z, double *y);

/* How far x lies beyond the training data, in standard deviations of the worst input; 0 inside. */
double @name@_outside(const double *x);

/* Latents for draw number `draw`: the same numbers for the same seed and number, in any order.
   They come from SplitMix64, whose sequence begins at the scrambled seed: latent i of a draw takes its numbers
   2 (draw * targets + i) + 1 and + 2, as uniforms in (0, 1), and turns them by sqrt(-2 log u) cos(2 pi v). */
void @name@_latents(uint64_t seed, uint64_t draw, double *z);

#ifdef __cplusplus
}
#endif

#endif

/* A program of several files defines @NAME@_HEADER before including this file, everywhere but in one place. */
#ifndef @NAME@_HEADER

#include <math.h>
#include <stddef.h>

const char *const @name@_input_names[] = {@input_names@};
const char *const @name@_target_names[] = {@target_names@};

enum { FEATURES = @features@, LAYERS = @layers@, STEPS = @steps@, WIDEST = @widest@, IN_TURN = @in_turn@ };
enum { LINE, COSINE, SINE, EQUAL, STEP, MISSING };
enum { CONTINUOUS, LATTICE, ATOMS };

/* One number that the networks see: factor times a curve of the raw value; 0 where a cell is missing. */
typedef struct {
    int input, curve, gaps;
    double centre, scale, factor;
} Feature;

/* The values of a target: its scale, and the cells of its lattice or atoms. */
typedef struct {
    int kind, count;
    double centre, scale;
    const double *values, *low, *high, *shift;
} Target;

@tables@

static double feature_of(const Feature *feature, double x)
{
    const double turn = 6.283185307179586476925 * (x - feature->centre) / feature->scale;
    if (feature->curve == MISSING)
        return isnan(x) ? feature->factor : 0.0;
    if (feature->gaps && isnan(x))
        return 0.0;
    switch (feature->curve) {
    case LINE:
        return feature->factor * (x - feature->centre) / feature->scale;
    case COSINE:
        return feature->factor * cos(turn);
    case SINE:
        return feature->factor * sin(turn);
    case EQUAL:
        return x == feature->centre ? feature->factor : 0.0;
    default:
        return x >= feature->centre ? feature->factor : 0.0;
    }
}

/* What the network of a target says of what it sees; `seen` is overwritten with it. */
static void network(int target, double *seen)
{
    double next[WIDEST];
    int layer, i, j;
    for (layer = 0; layer < LAYERS; layer++) {
        const int from = sizes[layer], to = sizes[layer + 1];
        const float *weight = weights[layer] + (size_t)target * from * to;
        const float *bias = biases[layer] + (size_t)target * to;
        for (j = 0; j < to; j++)
            next[j] = bias[j];
        for (i = 0; i < from; i++)
            for (j = 0; j < to; j++)
                next[j] += seen[i] * weight[(size_t)i * to + j];
        for (j = 0; j < to; j++)
            seen[j] = layer < LAYERS - 1 ? next[j] / (1.0 + exp(-next[j])) : next[j];
    }
}

/* The quantile map through the points that a network says, at a latent: rational quadratics, straight beyond. */
static double spline(const double *said, double z)
{
    double across[STEPS], up[STEPS], chord[STEPS], left = -REACH, low = said[0], most = said[1], sum = 0.0;
    double start, end, share, both, inside;
    int k, here = 0;
    for (k = 1; k < STEPS; k++)
        most = said[k + 1] > most ? said[k + 1] : most;
    for (k = 0; k < STEPS; k++)
        sum += across[k] = exp(said[k + 1] - most);
    for (k = 0; k < STEPS; k++) {
        const double rise = said[STEPS + 1 + k];
        across[k] = 2.0 * REACH * (LEAST_STEP + (1.0 - STEPS * LEAST_STEP) * across[k] / sum);
        up[k] = 2.0 * REACH / STEPS * (LEAST_SLOPE + 1.0 + (rise > 0.0 ? rise : expm1(rise)));
        chord[k] = up[k] / across[k];
        if (k < STEPS / 2)
            low -= up[k];
    }
    while (here < STEPS - 1 && z >= left + across[here]) {
        left += across[here];
        low += up[here++];
    }
    start = here == 0 ? chord[0] : 2.0 * chord[here] * chord[here - 1] / (chord[here] + chord[here - 1]);
    end = here == STEPS - 1 ? chord[here] : 2.0 * chord[here + 1] * chord[here] / (chord[here + 1] + chord[here]);
    share = (z - left) / across[here];
    if (share < 0.0)
        return low + start * (z - left);
    if (share > 1.0)
        return low + up[here] + end * (z - left - across[here]);
    both = share * (1.0 - share);
    inside = up[here] * (chord[here] * share * share + start * both);
    return low + inside / (chord[here] + (start + end - 2.0 * chord[here]) * both);
}

/* Back to the values of the data: lattices and atoms. */
static double value_of(const Target *target, double y)
{
    int passed = 0, above = target->count;
    y = y * target->scale + target->centre;
    if (target->kind == CONTINUOUS || isnan(y))
        return y;
    while (passed < above) {
        const int middle = (passed + above) / 2;
        if (target->high[middle] <= y)
            passed = middle + 1;
        else
            above = middle;
    }
    if (target->kind == LATTICE)
        return target->values[passed < target->count ? passed : target->count - 1];
    return passed < target->count && y >= target->low[passed] ? target->values[passed] : y - target->shift[passed];
}

void @name@_push(const double *x, const double *z, double *y)
{
    double seen[FEATURES + @NAME@_TARGETS], work[WIDEST], latents[@NAME@_TARGETS];
    int i, j;
    for (i = 0; i < FEATURES; i++)
        seen[i] = feature_of(&features[i], x[features[i].input]);
    for (i = 0; i < @NAME@_TARGETS; i++) {
        seen[FEATURES + i] = 0.0;
        latents[i] = z[i]; /* y may be the same place as z */
    }
    for (i = 0; i < @NAME@_TARGETS; i++) {
        for (j = 0; j < sizes[0]; j++)
            work[j] = seen[j];
        network(i, work);
        work[0] = spline(work, latents[i]);
        if (IN_TURN)
            seen[FEATURES + i] = work[0];
        y[i] = value_of(&targets[i], work[0]);
    }
}

double @name@_outside(const double *x)
{
    double worst = 0.0;
    int i;
    for (i = 0; i < @NAME@_INPUTS; i++) {
        const double below = (lowest[i] - x[i]) / scales[i], above = (x[i] - highest[i]) / scales[i];
        worst = below > worst ? below : worst;
        worst = above > worst ? above : worst;
    }
    return worst;
}

static uint64_t scrambled(uint64_t number)
{
    number = (number ^ (number >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94D049BB133111EB);
    return number ^ (number >> 31);
}

static double uniform(uint64_t start, uint64_t place)
{
    return ((double)(scrambled(start + place * UINT64_C(0x9E3779B97F4A7C15)) >> 11) + 0.5) / 9007199254740992.0;
}

void @name@_latents(uint64_t seed, uint64_t draw, double *z)
{
    const uint64_t start = scrambled(seed + UINT64_C(0x9E3779B97F4A7C15));
    uint64_t i;
    for (i = 0; i < @NAME@_TARGETS; i++) {
        const uint64_t place = 2 * (draw * @NAME@_TARGETS + i);
        const double radius = sqrt(-2.0 * log(uniform(start, place + 1)));
        z[i] = radius * cos(6.283185307179586476925 * uniform(start, place + 2));
    }
}

#endif
