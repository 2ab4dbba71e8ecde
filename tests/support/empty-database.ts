import { reset } from 'cloudflare:test'

// A file that shares its Worker begins as the first one did: no row, no table, no object.
await reset()
