// Debian's static HDF5 carries a driver for files in S3, which wants libcurl
// and libcrypto; static versions of those bring twenty more libraries. Betz
// opens local files only and never selects that driver, so these stand-ins are
// never called; each fails if it were. They are weak: an object that defines
// the real function wins. Whoever links libcurl or libcrypto deletes them.
#include <stddef.h>

#define STUB __attribute__((weak, visibility("default")))

STUB int curl_global_init(long flags) {
  (void)flags;
  return 2; // CURLE_FAILED_INIT
}
STUB void curl_global_cleanup(void) {}
STUB void *curl_easy_init(void) { return NULL; }
STUB int curl_easy_setopt(void *handle, int option, ...) {
  (void)handle;
  (void)option;
  return 2;
}
STUB int curl_easy_perform(void *handle) {
  (void)handle;
  return 2;
}
STUB void curl_easy_cleanup(void *handle) { (void)handle; }
STUB void *curl_slist_append(void *list, const char *text) {
  (void)list;
  (void)text;
  return NULL;
}
STUB void curl_slist_free_all(void *list) { (void)list; }
STUB const void *EVP_sha256(void) { return NULL; }
STUB unsigned char *HMAC(const void *method, const void *key, int keySize,
                         const unsigned char *data, size_t size,
                         unsigned char *digest, unsigned int *digestSize) {
  (void)method, (void)key, (void)keySize, (void)data, (void)size;
  (void)digest, (void)digestSize;
  return NULL;
}
STUB unsigned char *SHA256(const unsigned char *data, size_t size,
                           unsigned char *digest) {
  (void)data, (void)size, (void)digest;
  return NULL;
}
