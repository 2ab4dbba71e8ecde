import { env } from 'cloudflare:workers'
import fc from 'fast-check'

/** Properties are tried with the same values in each run, so that a failure belongs to a change. `ROOKERY_FUZZ_SEED` tries others. */
fc.configureGlobal({ seed: Number(Reflect.get(env, 'ROOKERY_FUZZ_SEED')) || 2026 })
