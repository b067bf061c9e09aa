/* Platform files from strings. */
#include "platform_text.h"

#include "support/built_with.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char platform_text_everything[] =
    "<?xml version=\"1.0\"?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    " <zone id=\"w\" routing=\"Floyd\"><prop id=\"ronde.alpha_ns\" value=\"12.5\"/>\n"
    "  <prop id=\"other\" value=\"x\"/>\n"
    "  <cluster id=\"c\" prefix=\"c\" suffix=\"x\" radical=\"0-1,7\" speed=\"1Gf,2Gf\" "
    "bw=\"10GBps\"\n"
    "   lat=\"2us\" bb_bw=\"5GBps\" bb_lat=\"1us\" limiter_link=\"15GBps\" loopback_bw=\"1GBps\"\n"
    "   loopback_lat=\"0s\" router_id=\"rc\"><prop id=\"ronde.cores\" value=\"4\"/></cluster>\n"
    "  <AS id=\"f\" routing=\"Full\"><host id=\"f0\" speed=\"1Gf\"><prop id=\"p\" "
    "value=\"1\"/></host>\n"
    "   <host id=\"f1\" speed=\"1kiloflops\" core=\"2\"/><router id=\"rf\"/>\n"
    "   <link id=\"a\" bandwidth=\"80Gbps\" latency=\"100ns\" sharing_policy=\"SPLITDUPLEX\"/>\n"
    "   <link id=\"b\" bandwidth=\"1KiBps\" latency=\"0\" sharing_policy=\"FATPIPE\"/>\n"
    "   <route src=\"f0\" dst=\"f1\"><link_ctn id=\"a\" direction=\"UP\"/><link_ctn "
    "id=\"b\"/></route>\n"
    "   <route src=\"f1\" dst=\"rf\"><link_ctn id=\"b\"/></route>\n"
    "   <route src=\"f0\" dst=\"rf\"><link_ctn id=\"b\"/></route></AS>\n"
    "  <zone id=\"s\" routing=\"Cluster\"><host id=\"s0\" speed=\"1Gf\"/><host id=\"s1\" "
    "speed=\"1Gf\"/>\n"
    "   <link id=\"l\" bandwidth=\"1GBps\" latency=\"0s\" sharing_policy=\"SPLITDUPLEX\"/>\n"
    "   <link id=\"m\" bandwidth=\"1GBps\" latency=\"0s\" sharing_policy=\"SHARED\"/>\n"
    "   <host_link id=\"s0\" up=\"l_UP\" down=\"l_DOWN\"/><host_link id=\"s1\" up=\"m\" "
    "down=\"m\"/>\n"
    "   <router id=\"rs\"/><backbone id=\"bb\" bandwidth=\"3GBps\" latency=\"1ms\"/></zone>\n"
    "  <link id=\"cf\" bandwidth=\"9GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n"
    "  <link id=\"fs\" bandwidth=\"9GBps\" latency=\"1us\"/>\n"
    "  <zoneRoute src=\"c\" dst=\"f\" gw_src=\"rc\" gw_dst=\"rf\"><link_ctn id=\"cf\" "
    "direction=\"UP\"/>"
    "</zoneRoute>\n"
    "  <ASroute src=\"f\" dst=\"s\" gw_src=\"rf\" gw_dst=\"rs\"><link_ctn id=\"fs\"/></ASroute>\n"
    " </zone>\n"
    "</platform>\n";

/* Writes a file of its own, whose path is the template filled in. */
static bool write_scratch(char *path, const char *text, size_t bytes)
{
    const int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    CU_ASSERT_PTR_NOT_NULL(file);
    if (!file)
        return false;
    CU_ASSERT_EQUAL(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
    return true;
}

enum ronde_status platform_text_read(const char *text, size_t bytes, const struct ronde_mem *mem,
                                     struct ronde_platform **out_platform, struct ronde_error *error)
{
    char path[] = RONDE_SCRATCH_DIR "/platform-XXXXXX";
    *out_platform = NULL;
    if (!write_scratch(path, text, bytes))
        return RONDE_IO;
    const enum ronde_status status = ronde_platform_read(path, mem, out_platform, error);
    unlink(path);
    return status;
}

bool platform_text_keep(const char *text, char path[PLATFORM_TEXT_PATH_BYTES],
                        struct ronde_platform **out_platform)
{
    struct ronde_error error = {0};
    path[0] = '\0';
    *out_platform = NULL;
    if (!suite_can_read_platforms())
        return false;
    snprintf(path, PLATFORM_TEXT_PATH_BYTES, "%s/platform-XXXXXX", RONDE_SCRATCH_DIR);
    if (!write_scratch(path, text, strlen(text)))
        return false;
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), out_platform, &error), RONDE_OK);
    if (!*out_platform)
        suite_note("%s", error.message);
    return *out_platform != NULL;
}

void platform_text_drop(const char *path, struct ronde_platform *platform)
{
    ronde_platform_destroy(platform);
    if (path[0])
        unlink(path);
}

struct ronde_platform *platform_text_open(const char *relative)
{
    char path[1024];
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms() || !suite_source(path, sizeof path, relative))
        return NULL;
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    return platform;
}

struct ronde_platform *platform_text_good(const char *text)
{
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return NULL;
    CU_ASSERT_EQUAL(platform_text_read(text, strlen(text), ronde_mem_default(), &platform, &error),
                    RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    return platform;
}

char *platform_text_generate(const struct ronde_generate_request *request, size_t *out_bytes,
                             struct ronde_error *error)
{
    char *text = NULL;
    *out_bytes = 0;
    FILE *file = open_memstream(&text, out_bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const enum ronde_status status = ronde_generate(request, file, error);
    (void)fclose(file);
    if (status == RONDE_OK)
        return text;
    CU_ASSERT_EQUAL(*out_bytes, 0);
    free(text);
    return NULL;
}

struct ronde_platform *platform_text_generated(const struct ronde_generate_request *request)
{
    size_t bytes = 0;
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    char *text = platform_text_generate(request, &bytes, &error);
    enum ronde_status status = error.status;
    if (text && suite_can_read_platforms())
        status =
            ronde_platform_parse("generated", text, bytes, ronde_mem_default(), &platform, &error);
    free(text);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    return platform;
}

void platform_text_route(const struct ronde_platform *platform, uint32_t src, uint32_t dst,
                         char *text, size_t bytes)
{
    uint32_t links[32];
    uint32_t count = 0;
    struct ronde_error error = {0};
    text[0] = '\0';
    if (ronde_platform_route(platform, src, dst, 32, links, &count, &error) != RONDE_OK) {
        snprintf(text, bytes, "%s", error.message);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%s", i ? " " : "",
                 ronde_platform_link(platform, links[i])->name);
    }
}
