/* FMI 2.0, co-simulation: the functions of the standard around fmu.c. */

#include "fmu.c"

#include <stddef.h>

typedef void *fmi2Component, *fmi2ComponentEnvironment, *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef const char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

/* A program that links several FMUs gives their functions a prefix. */
#ifdef FMI2_FUNCTION_PREFIX
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define NAMED(name) JOIN(FMI2_FUNCTION_PREFIX, name)
#else
#define NAMED(name) name
#endif
#define API(type, name) EXPORTED type NAMED(name)

typedef struct {
    State now;
    fmi2CallbackFunctions with;
} Instance;

static fmi2Status told(Instance *it, int status, const char *message)
{
    if (status != OK && it->with.logger)
        it->with.logger(it->with.componentEnvironment, MODEL_NAME, fmi2Error, "logStatusError", "%s", message);
    return status == OK ? fmi2OK : fmi2Error;
}

API(const char *, fmi2GetTypesPlatform)(void)
{
    return "default";
}

API(const char *, fmi2GetVersion)(void)
{
    return "2.0";
}

API(fmi2Status, fmi2SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String names[])
{
    (void)c, (void)on, (void)count, (void)names;
    return fmi2OK;
}

API(fmi2Component, fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                    const fmi2CallbackFunctions *with, fmi2Boolean visible, fmi2Boolean logging)
{
    Instance *it;
    (void)name, (void)resources, (void)visible, (void)logging;
    if (type != fmi2CoSimulation || !guid || strcmp(guid, MODEL_TOKEN) != 0)
        return NULL;
    it = calloc(1, sizeof *it);
    if (!it)
        return NULL;
    if (with)
        it->with = *with;
    set_up(&it->now);
    return it;
}

API(void, fmi2FreeInstance)(fmi2Component c)
{
    free(c);
}

API(fmi2Status, fmi2SetupExperiment)(fmi2Component c, fmi2Boolean tolerant, fmi2Real tolerance, fmi2Real start,
                                     fmi2Boolean stops, fmi2Real stop)
{
    (void)tolerant, (void)tolerance, (void)stops, (void)stop;
    ((Instance *)c)->now.value[TIME] = start;
    return fmi2OK;
}

API(fmi2Status, fmi2EnterInitializationMode)(fmi2Component c)
{
    Instance *it = c;
    return told(it, start_at(&it->now, it->now.value[TIME]), "");
}

API(fmi2Status, fmi2ExitInitializationMode)(fmi2Component c)
{
    Instance *it = c;
    return told(it, initialized(&it->now), "");
}

API(fmi2Status, fmi2Terminate)(fmi2Component c)
{
    ((Instance *)c)->now.mode = TERMINATED;
    return fmi2OK;
}

API(fmi2Status, fmi2Reset)(fmi2Component c)
{
    set_up(&((Instance *)c)->now);
    return fmi2OK;
}

API(fmi2Status, fmi2DoStep)(fmi2Component c, fmi2Real time, fmi2Real size, fmi2Boolean settled)
{
    Instance *it = c;
    (void)settled;
    return told(it, step_to(&it->now, time + size), "a step needs an initialized FMU, and a step size above 0");
}

static int whole_type(unsigned int variable)
{
    return variable < VARIABLES && types[variable] == INTEGER ? INTEGER : ENUMERATION;
}

#define ACCESS(name, type, kind)                                                                             \
    API(fmi2Status, fmi2Get##name)(fmi2Component c, const fmi2ValueReference variables[], size_t count,      \
                                   type values[])                                                            \
    {                                                                                                        \
        Instance *it = c;                                                                                    \
        double value = 0.0;                                                                                  \
        int status = OK;                                                                                     \
        size_t i;                                                                                            \
        for (i = 0; i < count && status == OK; i++) {                                                        \
            status = get_value(&it->now, variables[i], kind, &value);                                        \
            values[i] = (type)value;                                                                         \
        }                                                                                                    \
        return told(it, status, "fmi2Get" #name ": there is no such variable of this type");                 \
    }                                                                                                        \
    API(fmi2Status, fmi2Set##name)(fmi2Component c, const fmi2ValueReference variables[], size_t count,      \
                                   const type values[])                                                      \
    {                                                                                                        \
        Instance *it = c;                                                                                    \
        int status = OK;                                                                                     \
        size_t i;                                                                                            \
        for (i = 0; i < count && status == OK; i++)                                                          \
            status = set_value(&it->now, variables[i], kind, (double)values[i]);                             \
        return told(it, status, "fmi2Set" #name ": no such variable of this type that may be set now");      \
    }

ACCESS(Real, fmi2Real, REAL)
ACCESS(Boolean, fmi2Boolean, BOOLEAN)
/* Enumerations, and the seed. */
ACCESS(Integer, fmi2Integer, whole_type(variables[i]))

API(fmi2Status, fmi2GetFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    State *copy = *state ? *state : malloc(sizeof *copy);
    if (!copy)
        return told(c, WRONG, "no memory for the state");
    *copy = ((Instance *)c)->now;
    *state = copy;
    return fmi2OK;
}

API(fmi2Status, fmi2SetFMUstate)(fmi2Component c, fmi2FMUstate state)
{
    ((Instance *)c)->now = *(const State *)state;
    return fmi2OK;
}

API(fmi2Status, fmi2FreeFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi2OK;
}

API(fmi2Status, fmi2SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c, (void)state;
    *size = sizeof(State);
    return fmi2OK;
}

API(fmi2Status, fmi2SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (size < sizeof(State))
        return told(c, WRONG, "too little room for the state");
    memcpy(bytes, state, sizeof(State));
    return fmi2OK;
}

API(fmi2Status, fmi2DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    if (size != sizeof(State))
        return told(c, WRONG, "these bytes are the state of another FMU");
    if (!*state)
        *state = malloc(sizeof(State));
    if (!*state)
        return told(c, WRONG, "no memory for the state");
    memcpy(*state, bytes, sizeof(State));
    return fmi2OK;
}

API(fmi2Status, fmi2GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = ((Instance *)c)->now.value[TIME];
    return fmi2OK;
}

API(fmi2Status, fmi2GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (kind != fmi2Terminated)
        return fmi2Discard;
    *value = ((Instance *)c)->now.mode == TERMINATED;
    return fmi2OK;
}

/* What the standard has and this FMU says that it lacks. */
#define REFUSED(name, arguments, unused)                          \
    API(fmi2Status, name) arguments                               \
    {                                                             \
        unused;                                                   \
        return told(c, WRONG, #name ": this FMU cannot do that"); \
    }

REFUSED(fmi2GetString, (fmi2Component c, const fmi2ValueReference v[], size_t n, fmi2String x[]),
        ((void)v, (void)n, (void)x))
REFUSED(fmi2SetString, (fmi2Component c, const fmi2ValueReference v[], size_t n, const fmi2String x[]),
        ((void)v, (void)n, (void)x))
REFUSED(fmi2GetDirectionalDerivative,
        (fmi2Component c, const fmi2ValueReference u[], size_t n, const fmi2ValueReference k[], size_t m,
         const fmi2Real s[], fmi2Real r[]),
        ((void)u, (void)n, (void)k, (void)m, (void)s, (void)r))
REFUSED(fmi2SetRealInputDerivatives,
        (fmi2Component c, const fmi2ValueReference v[], size_t n, const fmi2Integer o[], const fmi2Real x[]),
        ((void)v, (void)n, (void)o, (void)x))
REFUSED(fmi2GetRealOutputDerivatives,
        (fmi2Component c, const fmi2ValueReference v[], size_t n, const fmi2Integer o[], fmi2Real x[]),
        ((void)v, (void)n, (void)o, (void)x))
REFUSED(fmi2CancelStep, (fmi2Component c), (void)0)
REFUSED(fmi2GetStatus, (fmi2Component c, const fmi2StatusKind k, fmi2Status *x), ((void)k, (void)x))
REFUSED(fmi2GetIntegerStatus, (fmi2Component c, const fmi2StatusKind k, fmi2Integer *x), ((void)k, (void)x))
REFUSED(fmi2GetStringStatus, (fmi2Component c, const fmi2StatusKind k, fmi2String *x), ((void)k, (void)x))
