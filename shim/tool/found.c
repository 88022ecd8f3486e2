#include "shim/tool/found.h"

#include "shim/environment.h"
#include "shim/tool/output.h"
#include "shim/tool/outstanding.h"
#include "shim/tool/tool.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/types.h>
#include <unistd.h>

#define SHARED_MEMORY_LIST "/proc/sysvipc/shm"

/* One line of the kernel's list. */
struct segment {
    int id;
    unsigned mode, owner, group, maker, maker_group;
    uint64_t size_bytes, resident_bytes, attached;
};

static bool read_segment(const char *line, struct segment *segment) {
    int key;
    uint64_t swapped_bytes;
    int fields = sscanf(
        line, "%d %d %o %" SCNu64 " %*d %*d %" SCNu64 " %u %u %u %u %*d %*d %*d %" SCNu64 " %" SCNu64, &key,
        &segment->id, &segment->mode, &segment->size_bytes, &segment->attached, &segment->owner,
        &segment->group, &segment->maker, &segment->maker_group, &segment->resident_bytes, &swapped_bytes);
    if (fields < 9) {
        return false;
    }
    segment->resident_bytes = fields == 11 ? segment->resident_bytes + swapped_bytes : 0;
    return true;
}

static bool in_group(unsigned group) {
    gid_t groups[256];
    int count = getgroups(256, groups);
    for (int i = 0; i < count; i++) {
        if (groups[i] == group) {
            return true;
        }
    }
    return getegid() == group;
}

static bool is_of_group(const struct segment *segment) {
    return (segment->mode & 0660) == 0660;
}

/* A panel's name alone proves nothing: anybody can make a segment. So it is the user's own, or made for a
 * group of the user's by root or by a member. */
static bool is_ours(const struct segment *segment) {
    if (geteuid() == 0 || segment->maker == geteuid()) {
        return true;
    }
    return is_of_group(segment) && in_group(segment->group) &&
           (segment->maker == 0 || segment->maker_group == segment->group);
}

static void name_user(char *text, unsigned id) {
    const struct passwd *user = getpwuid(id);
    if (user) {
        snprintf(text, FOUND_WHO_MAX, "%s", user->pw_name);
    } else {
        snprintf(text, FOUND_WHO_MAX, "%u", id);
    }
}

static void name_group(char *text, unsigned id) {
    const struct group *group = getgrgid(id);
    if (group) {
        snprintf(text, FOUND_WHO_MAX, "%s", group->gr_name);
    } else {
        snprintf(text, FOUND_WHO_MAX, "%u", id);
    }
}

/* What the panel of that name is called in memory: a very long name is shortened there. */
static void name_in_memory(const char *name, char *result) {
    struct environment environment;
    setenv("CUTOUT_PANEL", name, 1);
    unsetenv("CUTOUT_DISABLE"); /* with it nothing else would be read */
    environment_read(&environment);
    memcpy(result, environment.panel, PANEL_NAME_MAX);
}

bool found_group(const char *text, uint32_t *group_id) {
    if (*text && text[strspn(text, "0123456789")] == 0) {
        errno = 0;
        unsigned long number = strtoul(text, NULL, 10);
        *group_id = (uint32_t)number;
        return errno == 0 && number < UINT32_MAX; /* (gid_t)-1 is no group */
    }
    const struct group *group = getgrnam(text);
    if (group) {
        *group_id = group->gr_gid;
    }
    return group != NULL;
}

static bool is_selected(const struct found_panel *panel, const char *selector) {
    char name[PANEL_NAME_MAX];
    uint32_t group_id;
    if (!selector) {
        return true;
    }
    const char *group = getenv("CUTOUT_GROUP");
    if (group && *group &&
        (!found_group(group, &group_id) || !panel->group[0] || panel->group_id != group_id)) {
        return false;
    }
    name_in_memory(selector, name);
    if (strcmp(panel->name, name) == 0) {
        return true;
    }
    const char *slash = strchr(selector, '/');
    size_t user_length = slash ? (size_t)(slash - selector) : 0;
    if (user_length == 0 || panel->group[0] || strlen(panel->user) != user_length ||
        memcmp(panel->user, selector, user_length) != 0) {
        return false;
    }
    name_in_memory(slash + 1, name);
    return strcmp(panel->name, name) == 0;
}

/* Whether the segment holds a panel of that name in another layout. Magic, layout and name lie where they are in each. */
static bool is_other_layout(const struct segment *segment, const char *name) {
    if ((segment->mode & SHM_DEST) || segment->size_bytes < offsetof(struct panel, processes) ||
        !is_ours(segment)) {
        return false;
    }
    const void *address = shmat(segment->id, NULL, SHM_RDONLY);
    if (address == (void *)-1) { // NOLINT(performance-no-int-to-ptr): as shmat says it
        return false;
    }
    const struct panel *panel = address;
    char called[PANEL_NAME_MAX];
    copy_bounded(called, sizeof called, panel->name, PANEL_NAME_MAX);
    bool other = atomic64_load_relaxed(&panel->magic) == PANEL_MAGIC &&
                 atomic64_load_relaxed(&panel->layout) != PANEL_LAYOUT && strcmp(called, name) == 0;
    shmdt(address);
    return other;
}

/* Attaches the segment where it is a panel of ours that was asked for. */
static bool open_segment(const struct segment *segment, const char *selector, struct found_panel *panel) {
    if ((segment->mode & SHM_DEST) || segment->size_bytes != sizeof(struct panel) || !is_ours(segment)) {
        return false;
    }
    memset(panel, 0, sizeof *panel);
    if (panel_attach_id(&panel->attachment, segment->id, true) != 0) {
        return false;
    }
    panel->attached = segment->attached;
    panel->size_bytes = segment->size_bytes;
    panel->resident_bytes = segment->resident_bytes;
    panel->user_id = segment->maker;
    panel->group_id = segment->group;
    copy_bounded(panel->name, sizeof panel->name, panel->attachment.panel->name, PANEL_NAME_MAX);
    name_user(panel->user, segment->maker);
    if (is_of_group(segment)) {
        name_group(panel->group, segment->group);
    }
    if (is_selected(panel, selector)) {
        return true;
    }
    panel_detach(&panel->attachment);
    return false;
}

static int compare_panels(const void *left, const void *right) {
    const struct found_panel *a = left, *b = right;
    int order = strcmp(a->user, b->user);
    if (order == 0) {
        order = strcmp(a->name, b->name);
    }
    if (order == 0) {
        order = strcmp(a->group, b->group);
    }
    return order;
}

bool found_open(struct found *found, const char *selector) {
    memset(found, 0, sizeof *found);
    FILE *list = fopen(SHARED_MEMORY_LIST, "re");
    if (!list) {
        tool_error("cannot read " SHARED_MEMORY_LIST ": %s", strerror(errno));
        return false;
    }
    char line[512];
    size_t room = 0;
    while (fgets(line, sizeof line, list)) {
        struct segment segment;
        if (!read_segment(line, &segment)) { /* the heading */
            continue;
        }
        if (found->count == room) {
            room = room * 2 + 8;
            struct found_panel *more = realloc(found->panels, room * sizeof *more);
            if (!more) {
                tool_error("out of memory");
                break;
            }
            found->panels = more;
        }
        if (open_segment(&segment, selector, &found->panels[found->count])) {
            found->count++;
        }
    }
    fclose(list);
    if (found->count > 1) {
        qsort(found->panels, found->count, sizeof *found->panels, compare_panels);
    }
    return true;
}

size_t found_other_layouts(const struct found_panel *found) {
    FILE *list = fopen(SHARED_MEMORY_LIST, "re");
    size_t others = 0;
    char line[512];
    while (list && fgets(line, sizeof line, list)) {
        struct segment segment;
        others += read_segment(line, &segment) && segment.attached > 0 && segment.maker == found->user_id &&
                  is_of_group(&segment) == (found->group[0] != 0) &&
                  (!found->group[0] || segment.group == found->group_id) &&
                  is_other_layout(&segment, found->name);
    }
    if (list) {
        fclose(list);
    }
    return others;
}

void found_close(struct found *found) {
    for (size_t i = 0; i < found->count; i++) {
        outstanding_free(found->panels[i].outstanding);
        panel_detach(&found->panels[i].attachment);
    }
    free(found->panels);
    memset(found, 0, sizeof *found);
}

int found_nothing(const char *selector) {
    if (selector) {
        tool_error("there is no panel %s", shown(selector));
    } else if (geteuid() == 0) {
        tool_error("there is no panel: no program has run under cutout, or its memory is private to it");
    } else {
        tool_error(
            "there is no panel of yours: no program of this user has run under cutout, or its memory is "
            "private to it");
    }
    return TOOL_NO;
}

uint32_t found_processes(const struct found_panel *panel) {
    uint32_t alive = 0;
    for (uint32_t slot = 0; slot < PANEL_PROCESSES; slot++) {
        alive += panel_slot_lives(&panel->attachment, slot);
    }
    return alive;
}

const struct found_panel *found_joined(const struct found *found, const struct environment *environment) {
    for (size_t i = 0; i < found->count; i++) {
        const struct found_panel *panel = &found->panels[i];
        bool whose = environment->has_group ? panel->group[0] && panel->group_id == environment->group
                                            : !panel->group[0] && panel->user_id == geteuid();
        if (whose && strcmp(panel->name, environment->panel) == 0) {
            return panel;
        }
    }
    return NULL;
}

const char *found_whose(const struct found_panel *panel) {
    static char text[2 * FOUND_WHO_MAX + 32];
    if (panel->group[0]) {
        snprintf(text, sizeof text, "the group %s (made by %s)", panel->group, panel->user);
    } else {
        snprintf(text, sizeof text, "%s", panel->user);
    }
    return text;
}
