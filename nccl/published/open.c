/** Opening tables and logs, and the machines they are of. See published.h. */
#define _POSIX_C_SOURCE 200809L

#include "reader.h"

#include "ronde/data_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Kinds of files. */
enum kind { TABLE, LOG, JSON, RUNS };

/** Bytes of the first line that has any that decide. */
#define LOOK_BYTES 4096

static bool has_ending(const char *path, const char *ending)
{
    const size_t bytes = strlen(path), end = strlen(ending);
    return bytes > end && strcmp(path + bytes - end, ending) == 0;
}

/** By the first line that is not blank: an object is JSON or a record, cells with commas and no blanks head a table. */
static enum kind find_kind(const char *path, FILE *file)
{
    char text[LOOK_BYTES];
    enum kind kind = has_ending(path, ".csv") ? TABLE : LOG;
    while (fgets(text, sizeof text, file)) {
        const char *at = text + strspn(text, " \t\r\n\f\v");
        if (*at == '\0')
            continue;
        const size_t cells = strcspn(at, " \t\r\n");
        if (*at == '{')
            kind = strstr(at, "\"kind\": \"nccl_run") ? RUNS : JSON;
        else if (memchr(at, ',', cells) && at[cells + strspn(at + cells, " \t\r\n")] == '\0')
            kind = TABLE;
        break;
    }
    rewind(file);
    return kind;
}

static bool shipped_folder(char *out_path, size_t bytes)
{
    for (unsigned p = 0; p < RONDE_DATA_PLACE_COUNT; p++)
        if (ronde_data_folder(RONDE_DATA_MACHINES, (enum ronde_data_place)p, out_path, bytes))
            return true;
    return false;
}

/** The machine of each system that has a description. */
static enum ronde_status read_machines(const char *folder, struct ronde_published *to,
                                       struct ronde_error *error)
{
    char shipped[RONDE_PATH_BYTES], path[RONDE_PATH_BYTES + RONDE_NCCL_NAME_BYTES + 8];
    if (!folder && !shipped_folder(shipped, sizeof shipped))
        return ronde_fail(error, RONDE_IO,
                          "descriptions of machines (share/ronde/machines) are not found");
    for (uint32_t s = 0; s < to->system_count; s++) {
        struct ronde_published_system *system = &to->systems[s];
        if (snprintf(path, sizeof path, "%s/%s.txt", folder ? folder : shipped, system->name) >=
            (int)sizeof path)
            return ronde_fail(error, RONDE_IO, "%.100s: path is too long", folder);
        if (access(path, F_OK) != 0)
            continue;
        RONDE_TRY(ronde_nccl_machine_read(path, &system->machine, error));
        system->is_described = true;
    }
    return RONDE_OK;
}

/** Whether notes name a launcher of several processes. */
static bool names_launcher(const char *notes)
{
    static const char *const words[] = {"mpi", "MPI", "srun", "slurm", "Slurm", "torchrun"};
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
        if (strstr(notes, words[w]))
            return true;
    return false;
}

/**
 * Whether one process launches on all GPUs where nothing is said of it: rows of one node alone are taken for nccl-tests' own
 * example (-g 8), which five of eight such systems of the training table are.
 */
static bool is_usually_one(const struct ronde_published *published, uint32_t system)
{
    if (names_launcher(published->systems[system].said.notes))
        return false;
    for (size_t r = 0; r < published->count; r++)
        if (published->rows[r].system == system && published->rows[r].call.nodes != 1)
            return false;
    return true;
}

/** Machines by the words of a table; a system whose GPU is not understood has none. */
static void understand_machines(struct ronde_published *to)
{
    for (uint32_t s = 0; s < to->system_count; s++) {
        struct ronde_published_system *system = &to->systems[s];
        const struct ronde_published_said *said = &system->said;
        const struct ronde_nccl_words_of words = {.gpu = said->gpu,
                                                  .inside = said->inside,
                                                  .between = said->between,
                                                  .notes = said->notes,
                                                  .gpus = said->gpus};
        struct ronde_error ignored = {.status = RONDE_OK};
        /* Without a known network there is one node still. */
        const enum ronde_status status =
            ronde_nccl_machine_of_words(&words, &system->machine, &ignored);
        system->is_described = status == RONDE_OK || system->machine.gpus > 0;
        system->machine.is_one_process = system->machine.is_one_process || is_usually_one(to, s);
        memcpy(system->machine.name, system->name, sizeof system->name);
    }
}

static enum ronde_status read_file(const struct ronde_published_request *request, FILE *file,
                                   struct ronde_published *out, struct ronde_error *error)
{
    switch (find_kind(request->path, file)) {
    case TABLE:
        return published_read_table(request, file, out, error);
    case JSON:
        return published_read_json(request, file, out, error);
    case RUNS:
        return published_read_runs(request, file, out, error);
    default:
        return published_read_log(request, file, out, error);
    }
}

enum ronde_status ronde_published_open(const struct ronde_published_request *request,
                                       const struct ronde_mem *mem, struct ronde_published *out,
                                       struct ronde_error *error)
{
    struct stat facts;
    *out = (struct ronde_published){.mem = mem};
    FILE *file = fopen(request->path, "r");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: %s", request->path, strerror(errno));
    if (fstat(fileno(file), &facts) == 0 && S_ISDIR(facts.st_mode)) {
        fclose(file);
        return ronde_fail(error, RONDE_IO, "%s: %s", request->path, strerror(EISDIR));
    }
    const enum ronde_status status = read_file(request, file, out, error);
    fclose(file);
    if (status != RONDE_OK || !request->is_auto)
        return status == RONDE_OK ? read_machines(request->folder, out, error) : status;
    understand_machines(out);
    return RONDE_OK;
}

enum ronde_status ronde_published_read(const char *path, const char *folder, const char *system,
                                       const struct ronde_mem *mem, struct ronde_published *out,
                                       struct ronde_error *error)
{
    const struct ronde_published_request request = {.path = path, .folder = folder, .system = system};
    return ronde_published_open(&request, mem, out, error);
}

enum ronde_status ronde_published_join(struct ronde_published *to,
                                       const struct ronde_published *from, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t r = 0; status == RONDE_OK && r < from->count; r++)
        status = published_add(to, &from->rows[r], error);
    ronde_log_facts_join(&to->log, &from->log);
    return status;
}

void ronde_published_close(struct ronde_published *published)
{
    ronde_mem_free(published->mem, published->rows, published->capacity, sizeof *published->rows);
    ronde_mem_free(published->mem, published->whys, published->why_capacity,
                   sizeof *published->whys);
    *published = (struct ronde_published){.mem = published->mem};
}
