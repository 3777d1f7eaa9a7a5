/* The model behind an FMU: its variables, its noise and, of a rollout, its state; the same for FMI 2.0 and 3.0.
   model.h has what differs between twins, law.c the law itself. */

#include "law.c"
#include "model.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

enum { OK = 0, WRONG = 3 };
enum { INSTANTIATED, INITIALIZING, STEPPING, TERMINATED };

/* All that changes while it runs: numbers alone, so that a copy is a saved state. */
typedef struct {
    double value[VARIABLES];
    double memory[(LAGS + 1) * MOMENT]; /* of a rollout: moments, the newest first; states, then actions */
    double began;
    uint64_t draws;
    int mode;
} State;

static void set_up(State *now)
{
    memset(now, 0, sizeof *now);
    memcpy(now->value, start_values, sizeof now->value);
    now->mode = INSTANTIATED;
}

static void draw_latents(const State *now, double *z)
{
    int i;
    MODEL_LATENTS((uint64_t)now->value[SEED], now->draws, z);
    for (i = 0; i < TARGETS_DRAWN && now->value[FIXED_LATENTS] != 0.0; i++)
        z[i] = now->value[LATENTS + i];
}

/* A category's code below 0 stands for a missing cell. */
static double given(const State *now, int variable)
{
    const double value = now->value[variable];
    return types[variable] == ENUMERATION && value < 0.0 ? NAN : value;
}

#if ROLLOUT

static double turned(int state, double value)
{
    double angle;
    if (periods[state] <= 0.0)
        return value;
    angle = fmod(value - turn_begins[state], periods[state]);
    angle = angle < 0.0 ? angle + periods[state] : angle;
    return turn_begins[state] + (angle >= periods[state] ? 0.0 : angle);
}

static void show(State *now)
{
    memcpy(now->value + OUTPUTS, now->memory, sizeof(double) * STATES);
}

/* The past, from the parameters that say where it starts. */
static void begin(State *now)
{
    int i;
    for (i = 0; i < STARTS_COUNT; i++)
        now->memory[start_places[i]] = now->value[STARTS + i];
    for (i = 0; i < (LAGS + 1) * MOMENT; i++)
        if (i % MOMENT < STATES)
            now->memory[i] = turned(i % MOMENT, now->memory[i]);
    show(now);
}

/* One step of the twin, with the actions as they stand. */
static void advance(State *now)
{
    double x[INPUTS_SEEN + 1], z[TARGETS_DRAWN], y[TARGETS_DRAWN], next[STATES];
    int i;
    for (i = 0; i < MOMENT - STATES; i++)
        now->memory[STATES + i] = given(now, INPUTS + i);
    for (i = 0; i < INPUTS_SEEN; i++)
        x[i] = now->memory[input_places[i]];
    draw_latents(now, z);
    MODEL_PUSH(x, z, y);
    now->value[OUTSIDE] = MODEL_OUTSIDE(x);
    for (i = 0; i < STATES; i++)
        next[i] = turned(i, y[movers[i]] + (added[i] ? now->memory[i] : 0.0));
    memmove(now->memory + MOMENT, now->memory, sizeof(double) * LAGS * MOMENT);
    memset(now->memory, 0, sizeof(double) * MOMENT);
    memcpy(now->memory, next, sizeof next);
    now->draws++;
    show(now);
}

/* Every step of the twin that ends by this time. */
static int move_to(State *now, double time)
{
    const double step = now->value[STEP_SIZE];
    if (!(step > 0.0))
        return WRONG;
    while (now->began + step * (double)(now->draws + 1) <= time + 1e-6 * step)
        advance(now);
    return OK;
}

#else

static void show(State *now)
{
    double x[INPUTS_SEEN + 1], z[TARGETS_DRAWN];
    int i;
    for (i = 0; i < INPUTS_SEEN; i++)
        x[i] = given(now, INPUTS + i);
    draw_latents(now, z);
    MODEL_PUSH(x, z, now->value + OUTPUTS);
    now->value[OUTSIDE] = MODEL_OUTSIDE(x);
}

static void begin(State *now)
{
    show(now);
}

/* A new draw at the inputs as they stand. */
static int move_to(State *now, double time)
{
    (void)time;
    now->draws++;
    show(now);
    return OK;
}

#endif

static int start_at(State *now, double time)
{
    now->mode = INITIALIZING;
    now->began = now->value[TIME] = time;
    return OK;
}

static int initialized(State *now)
{
    begin(now);
    now->mode = STEPPING;
    return OK;
}

static int step_to(State *now, double time)
{
    const int told = now->mode == STEPPING ? move_to(now, time) : WRONG;
    now->value[TIME] = told == OK ? time : now->value[TIME];
    return told;
}

static int get_value(State *now, unsigned int variable, int type, double *value)
{
    if (variable >= VARIABLES || types[variable] != type)
        return WRONG;
    if (now->mode == INITIALIZING)
        begin(now);
    *value = now->value[variable];
    return OK;
}

static int set_value(State *now, unsigned int variable, int type, double value)
{
    const int early = now->mode == INSTANTIATED || now->mode == INITIALIZING;
    if (variable >= VARIABLES || types[variable] != type)
        return WRONG;
    if (changes[variable] == NEVER || (changes[variable] == EARLY && !early))
        return WRONG;
    if (variable == SEED && !(value >= 0.0))
        return WRONG;
    now->value[variable] = value;
    return OK;
}
