/* FMI 3.0, co-simulation: the functions of the standard around fmu.c. */

#include "fmu.c"

#include <stdbool.h>
#include <stddef.h>

typedef void *fmi3Instance, *fmi3InstanceEnvironment, *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef float fmi3Float32;
typedef double fmi3Float64;
typedef bool fmi3Boolean, fmi3Clock;
typedef const char *fmi3String;
typedef uint8_t fmi3Byte;
typedef const fmi3Byte *fmi3Binary;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef enum { fmi3Independent, fmi3Constant, fmi3Fixed, fmi3Tunable, fmi3Discrete, fmi3Dependent } fmi3DependencyKind;
typedef enum { fmi3IntervalNotYetKnown, fmi3IntervalUnchanged, fmi3IntervalChanged } fmi3IntervalQualifier;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3IntermediateUpdateCallback)(fmi3InstanceEnvironment, fmi3Float64, fmi3Boolean, fmi3Boolean,
                                               fmi3Boolean, fmi3Boolean, fmi3Boolean *, fmi3Float64 *);
typedef void (*fmi3ClockUpdateCallback)(fmi3InstanceEnvironment);
typedef void (*fmi3LockPreemptionCallback)(void);

/* A program that links several FMUs gives their functions a prefix. */
#ifdef FMI3_FUNCTION_PREFIX
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define NAMED(name) JOIN(FMI3_FUNCTION_PREFIX, name)
#else
#define NAMED(name) name
#endif
#define API(type, name) EXPORTED type NAMED(name)

typedef struct {
    State now;
    fmi3LogMessageCallback log;
    fmi3InstanceEnvironment environment;
} Instance;

static fmi3Status told(Instance *it, int status, const char *message)
{
    if (status != OK && it->log)
        it->log(it->environment, fmi3Error, "logStatusError", message);
    return status == OK ? fmi3OK : fmi3Error;
}

API(const char *, fmi3GetVersion)(void)
{
    return "3.0";
}

API(fmi3Status, fmi3SetDebugLogging)(fmi3Instance instance, fmi3Boolean on, size_t count, const fmi3String names[])
{
    (void)instance, (void)on, (void)count, (void)names;
    return fmi3OK;
}

API(fmi3Instance, fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean events, fmi3Boolean early, const fmi3ValueReference intermediate[], size_t count,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    Instance *it;
    (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)intermediate;
    (void)count, (void)update;
    if (!token || strcmp(token, MODEL_TOKEN) != 0) {
        if (log)
            log(environment, fmi3Error, "logStatusError", "the token is that of another FMU");
        return NULL;
    }
    it = calloc(1, sizeof *it);
    if (!it)
        return NULL;
    it->log = log;
    it->environment = environment;
    set_up(&it->now);
    return it;
}

API(fmi3Instance, fmi3InstantiateModelExchange)(fmi3String name, fmi3String token, fmi3String resources,
                                                fmi3Boolean visible, fmi3Boolean logging,
                                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    return NULL;
}

API(fmi3Instance, fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback clock,
    fmi3LockPreemptionCallback lock, fmi3LockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    (void)clock, (void)lock, (void)unlock;
    return NULL;
}

API(void, fmi3FreeInstance)(fmi3Instance instance)
{
    free(instance);
}

API(fmi3Status, fmi3EnterInitializationMode)(fmi3Instance instance, fmi3Boolean tolerant, fmi3Float64 tolerance,
                                             fmi3Float64 start, fmi3Boolean stops, fmi3Float64 stop)
{
    Instance *it = instance;
    (void)tolerant, (void)tolerance, (void)stops, (void)stop;
    return told(it, start_at(&it->now, start), "");
}

API(fmi3Status, fmi3ExitInitializationMode)(fmi3Instance instance)
{
    Instance *it = instance;
    return told(it, initialized(&it->now), "");
}

API(fmi3Status, fmi3Terminate)(fmi3Instance instance)
{
    ((Instance *)instance)->now.mode = TERMINATED;
    return fmi3OK;
}

API(fmi3Status, fmi3Reset)(fmi3Instance instance)
{
    set_up(&((Instance *)instance)->now);
    return fmi3OK;
}

API(fmi3Status, fmi3DoStep)(fmi3Instance instance, fmi3Float64 time, fmi3Float64 size, fmi3Boolean settled,
                            fmi3Boolean *events, fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    Instance *it = instance;
    const int status = step_to(&it->now, time + size);
    (void)settled;
    *events = *terminate = *early = false;
    *last = it->now.value[TIME];
    return told(it, status, "a step needs an initialized FMU, and a step size above 0");
}

#define ACCESS(name, type, kind)                                                                              \
    API(fmi3Status, fmi3Get##name)(fmi3Instance instance, const fmi3ValueReference variables[], size_t count, \
                                   type values[], size_t size)                                                \
    {                                                                                                         \
        Instance *it = instance;                                                                              \
        double value = 0.0;                                                                                   \
        int status = size == count ? OK : WRONG;                                                              \
        size_t i;                                                                                             \
        for (i = 0; i < count && status == OK; i++) {                                                         \
            status = get_value(&it->now, variables[i], kind, &value);                                         \
            values[i] = (type)value;                                                                          \
        }                                                                                                     \
        return told(it, status, "fmi3Get" #name ": there is no such variable of this type");                  \
    }                                                                                                         \
    API(fmi3Status, fmi3Set##name)(fmi3Instance instance, const fmi3ValueReference variables[], size_t count, \
                                   const type values[], size_t size)                                          \
    {                                                                                                         \
        Instance *it = instance;                                                                              \
        int status = size == count ? OK : WRONG;                                                              \
        size_t i;                                                                                             \
        for (i = 0; i < count && status == OK; i++)                                                           \
            status = set_value(&it->now, variables[i], kind, (double)values[i]);                              \
        return told(it, status, "fmi3Set" #name ": no such variable of this type that may be set now");       \
    }

static int whole_type(unsigned int variable)
{
    return variable < VARIABLES && types[variable] == INTEGER ? INTEGER : ENUMERATION;
}

ACCESS(Float64, fmi3Float64, REAL)
ACCESS(Boolean, fmi3Boolean, BOOLEAN)
/* Enumerations, and the seed. */
ACCESS(Int64, int64_t, whole_type(variables[i]))
/* Types of which there is no variable. */
ACCESS(Float32, fmi3Float32, NONE)
ACCESS(Int8, int8_t, NONE)
ACCESS(UInt8, uint8_t, NONE)
ACCESS(Int16, int16_t, NONE)
ACCESS(UInt16, uint16_t, NONE)
ACCESS(Int32, int32_t, NONE)
ACCESS(UInt32, uint32_t, NONE)
ACCESS(UInt64, uint64_t, NONE)

API(fmi3Status, fmi3GetFMUState)(fmi3Instance instance, fmi3FMUState *state)
{
    State *copy = *state ? *state : malloc(sizeof *copy);
    if (!copy)
        return told(instance, WRONG, "no memory for the state");
    *copy = ((Instance *)instance)->now;
    *state = copy;
    return fmi3OK;
}

API(fmi3Status, fmi3SetFMUState)(fmi3Instance instance, fmi3FMUState state)
{
    ((Instance *)instance)->now = *(const State *)state;
    return fmi3OK;
}

API(fmi3Status, fmi3FreeFMUState)(fmi3Instance instance, fmi3FMUState *state)
{
    (void)instance;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

API(fmi3Status, fmi3SerializedFMUStateSize)(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    (void)instance, (void)state;
    *size = sizeof(State);
    return fmi3OK;
}

API(fmi3Status, fmi3SerializeFMUState)(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (size < sizeof(State))
        return told(instance, WRONG, "too little room for the state");
    memcpy(bytes, state, sizeof(State));
    return fmi3OK;
}

API(fmi3Status, fmi3DeserializeFMUState)(fmi3Instance instance, const fmi3Byte bytes[], size_t size,
                                         fmi3FMUState *state)
{
    if (size != sizeof(State))
        return told(instance, WRONG, "these bytes are the state of another FMU");
    if (!*state)
        *state = malloc(sizeof(State));
    if (!*state)
        return told(instance, WRONG, "no memory for the state");
    memcpy(*state, bytes, sizeof(State));
    return fmi3OK;
}

/* What the standard has and this FMU says that it lacks. */
#define REFUSED(name, arguments, unused)                                 \
    API(fmi3Status, name) arguments                                      \
    {                                                                    \
        unused;                                                          \
        return told(instance, WRONG, #name ": this FMU cannot do that"); \
    }

REFUSED(fmi3EnterEventMode, (fmi3Instance instance), (void)0)
REFUSED(fmi3EnterConfigurationMode, (fmi3Instance instance), (void)0)
REFUSED(fmi3ExitConfigurationMode, (fmi3Instance instance), (void)0)
REFUSED(fmi3EnterStepMode, (fmi3Instance instance), (void)0)
REFUSED(fmi3EnterContinuousTimeMode, (fmi3Instance instance), (void)0)
REFUSED(fmi3EvaluateDiscreteStates, (fmi3Instance instance), (void)0)
REFUSED(fmi3GetString,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, fmi3String x[], size_t m),
        ((void)v, (void)n, (void)x, (void)m))
REFUSED(fmi3SetString,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const fmi3String x[], size_t m),
        ((void)v, (void)n, (void)x, (void)m))
REFUSED(fmi3GetBinary,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, size_t sizes[], fmi3Binary x[],
         size_t m),
        ((void)v, (void)n, (void)sizes, (void)x, (void)m))
REFUSED(fmi3SetBinary,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const size_t sizes[],
         const fmi3Binary x[], size_t m),
        ((void)v, (void)n, (void)sizes, (void)x, (void)m))
REFUSED(fmi3GetClock,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, fmi3Clock x[]),
        ((void)v, (void)n, (void)x))
REFUSED(fmi3SetClock,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const fmi3Clock x[]),
        ((void)v, (void)n, (void)x))
REFUSED(fmi3GetNumberOfVariableDependencies,
        (fmi3Instance instance, fmi3ValueReference v, size_t *n),
        ((void)v, (void)n))
REFUSED(fmi3GetVariableDependencies,
        (fmi3Instance instance, fmi3ValueReference v, size_t a[], fmi3ValueReference b[], size_t c[],
         fmi3DependencyKind d[], size_t n),
        ((void)v, (void)a, (void)b, (void)c, (void)d, (void)n))
REFUSED(fmi3GetDirectionalDerivative,
        (fmi3Instance instance, const fmi3ValueReference u[], size_t n, const fmi3ValueReference k[], size_t m,
         const fmi3Float64 s[], size_t p, fmi3Float64 r[], size_t q),
        ((void)u, (void)n, (void)k, (void)m, (void)s, (void)p, (void)r, (void)q))
REFUSED(fmi3GetAdjointDerivative,
        (fmi3Instance instance, const fmi3ValueReference u[], size_t n, const fmi3ValueReference k[], size_t m,
         const fmi3Float64 s[], size_t p, fmi3Float64 r[], size_t q),
        ((void)u, (void)n, (void)k, (void)m, (void)s, (void)p, (void)r, (void)q))
REFUSED(fmi3GetIntervalDecimal,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, fmi3Float64 x[],
         fmi3IntervalQualifier q[]),
        ((void)v, (void)n, (void)x, (void)q))
REFUSED(fmi3GetIntervalFraction,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, uint64_t a[], uint64_t b[],
         fmi3IntervalQualifier q[]),
        ((void)v, (void)n, (void)a, (void)b, (void)q))
REFUSED(fmi3GetShiftDecimal,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, fmi3Float64 x[]),
        ((void)v, (void)n, (void)x))
REFUSED(fmi3GetShiftFraction,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, uint64_t a[], uint64_t b[]),
        ((void)v, (void)n, (void)a, (void)b))
REFUSED(fmi3SetIntervalDecimal,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const fmi3Float64 x[]),
        ((void)v, (void)n, (void)x))
REFUSED(fmi3SetIntervalFraction,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const uint64_t a[], const uint64_t b[]),
        ((void)v, (void)n, (void)a, (void)b))
REFUSED(fmi3SetShiftDecimal,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const fmi3Float64 x[]),
        ((void)v, (void)n, (void)x))
REFUSED(fmi3SetShiftFraction,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const uint64_t a[], const uint64_t b[]),
        ((void)v, (void)n, (void)a, (void)b))
REFUSED(fmi3UpdateDiscreteStates,
        (fmi3Instance instance, fmi3Boolean *a, fmi3Boolean *b, fmi3Boolean *c, fmi3Boolean *d, fmi3Boolean *e,
         fmi3Float64 *f),
        ((void)a, (void)b, (void)c, (void)d, (void)e, (void)f))
REFUSED(fmi3CompletedIntegratorStep,
        (fmi3Instance instance, fmi3Boolean a, fmi3Boolean *b, fmi3Boolean *c),
        ((void)a, (void)b, (void)c))
REFUSED(fmi3SetTime, (fmi3Instance instance, fmi3Float64 x), ((void)x))
REFUSED(fmi3SetContinuousStates, (fmi3Instance instance, const fmi3Float64 x[], size_t n), ((void)x, (void)n))
REFUSED(fmi3GetContinuousStateDerivatives, (fmi3Instance instance, fmi3Float64 x[], size_t n), ((void)x, (void)n))
REFUSED(fmi3GetEventIndicators, (fmi3Instance instance, fmi3Float64 x[], size_t n), ((void)x, (void)n))
REFUSED(fmi3GetContinuousStates, (fmi3Instance instance, fmi3Float64 x[], size_t n), ((void)x, (void)n))
REFUSED(fmi3GetNominalsOfContinuousStates, (fmi3Instance instance, fmi3Float64 x[], size_t n), ((void)x, (void)n))
REFUSED(fmi3GetNumberOfEventIndicators, (fmi3Instance instance, size_t *n), ((void)n))
REFUSED(fmi3GetNumberOfContinuousStates, (fmi3Instance instance, size_t *n), ((void)n))
REFUSED(fmi3GetOutputDerivatives,
        (fmi3Instance instance, const fmi3ValueReference v[], size_t n, const int32_t o[], fmi3Float64 x[],
         size_t m),
        ((void)v, (void)n, (void)o, (void)x, (void)m))
REFUSED(fmi3ActivateModelPartition,
        (fmi3Instance instance, fmi3ValueReference v, fmi3Float64 x),
        ((void)v, (void)x))
