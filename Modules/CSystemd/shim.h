#pragma once
#include <string.h>
#include <sys/eventfd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-bus-vtable.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

/* The rows of an object's table, which sd-bus has as macros only. Each fills one zeroed row. */

static inline void sordino_vtable_start(sd_bus_vtable *row) {
    sd_bus_vtable filled = SD_BUS_VTABLE_START(0);
    memset(row, 0, sizeof(*row));
    *row = filled;
}

/* `names`: those of the arguments, then those of the results, each ended by a NUL. Unprivileged: the session bus lets
 * only its own user in, and asking the bus for the caller's rights would block. */
static inline void sordino_vtable_method(
    sd_bus_vtable *row, const char *member, const char *signature, const char *result, const char *names,
    sd_bus_message_handler_t handler) {
    sd_bus_vtable filled =
        SD_BUS_METHOD_WITH_NAMES(member, signature, , result, names, handler, SD_BUS_VTABLE_UNPRIVILEGED);
    memset(row, 0, sizeof(*row));
    *row = filled;
}

static inline void sordino_vtable_signal(
    sd_bus_vtable *row, const char *member, const char *signature, const char *names) {
    sd_bus_vtable filled = SD_BUS_SIGNAL_WITH_NAMES(member, signature, names, 0);
    memset(row, 0, sizeof(*row));
    *row = filled;
}

static inline void sordino_vtable_property(
    sd_bus_vtable *row, const char *member, const char *signature, sd_bus_property_get_t get) {
    sd_bus_vtable filled = SD_BUS_PROPERTY(member, signature, get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE);
    memset(row, 0, sizeof(*row));
    *row = filled;
}

static inline void sordino_vtable_end(sd_bus_vtable *row) {
    sd_bus_vtable filled = SD_BUS_VTABLE_END;
    memset(row, 0, sizeof(*row));
    *row = filled;
}
