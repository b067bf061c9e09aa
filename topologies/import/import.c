/* From a file, or this machine, to an import: which kind it is. */
#include "hwloc_live.h"
#include "import_reader.h"
#include "topologies/read/document.h"

#include <string.h>

/* By the root element. */
static enum ronde_status dispatch(struct ronde_import_reader *reader, xmlNode *root)
{
    if (ronde_import_is(root, "system"))
        return ronde_nccl_read(reader, root);
    if (ronde_import_is(root, "topology"))
        return ronde_hwloc_read(reader, root);
    if (ronde_import_is(root, "graphs"))
        return ronde_import_fail(reader, root,
                                 "this is a graph of NCCL (NCCL_GRAPH_DUMP_FILE): it holds rings "
                                 "and trees, not a machine; NCCL_TOPO_DUMP_FILE writes that");
    if (ronde_import_is(root, "platform"))
        return ronde_import_fail(reader, root,
                                 "this is a platform file already; use it with --topo");
    return ronde_import_fail(reader, root,
                             "root element is <%s>, expected <system> (NCCL, RCCL) or <topology> "
                             "(hwloc)",
                             (const char *)root->name);
}

/* The document of the request, and what it is called. */
static enum ronde_status open_document(struct ronde_import_reader *reader, xmlDoc **out_document)
{
    struct ronde_import *import = reader->import;
    char *text = NULL;
    size_t bytes = 0;
    if (import->request.path) {
        const char *slash = strrchr(reader->path, '/');
        ronde_plain_text(import->source, sizeof import->source, slash ? slash + 1 : reader->path,
                         "");
        return ronde_document_read(reader->path, out_document, reader->error);
    }
    (void)snprintf(import->source, sizeof import->source, "live");
    enum ronde_status status =
        ronde_hwloc_describe_machine(import->mem, &text, &bytes, reader->error);
    RONDE_THEN(status, ronde_document_parse(reader->path, text, bytes, out_document, reader->error));
    ronde_mem_free(import->mem, text, bytes, 1);
    return status;
}

/* A machine without a file still needs a name in messages. */
static enum ronde_status fill(struct ronde_import *import, struct ronde_error *error)
{
    struct ronde_import_reader reader = {import, import->request.path, error};
    xmlDoc *document = NULL;
    if (!reader.path)
        reader.path = "this machine";
    enum ronde_status status = open_document(&reader, &document);
    RONDE_THEN(status, dispatch(&reader, xmlDocGetRootElement(document)));
    xmlFreeDoc(document);
    return status == RONDE_OK ? ronde_import_finish(import, reader.path, error) : status;
}

enum ronde_status ronde_import_read(const struct ronde_import_request *request,
                                    const struct ronde_mem *mem, struct ronde_import **out_import,
                                    struct ronde_error *error)
{
    struct ronde_import *import = NULL;
    *out_import = NULL;
    RONDE_TRY(ronde_import_open(request, mem, &import, error));
    const enum ronde_status status = fill(import, error);
    if (status == RONDE_OK)
        *out_import = import;
    else
        ronde_import_destroy(import);
    return status;
}
