// The hub that a command works on: the one that runs, or one that is started for the command alone.
import { HubClient } from '../../client/index.ts'
import { connect } from '../hub-client.mjs'
import { startHub } from '../hub-runtime.mjs'
import { findRunningHub, findStateDir } from '../local-state.mjs'

/**
 * Opens the hub that ROOKERY_URL names, else the one that runs on the state directory; when none runs, starts
 * one there on a free port.
 *
 * @template Result
 * @param {Record<string, string | undefined>} env
 * @param {(client: HubClient) => Promise<Result>} use
 * @returns {Promise<Result>}
 */
export async function withHub(env, use) {
  const stateDir = findStateDir(env)
  if (env.ROOKERY_URL || findRunningHub(stateDir) !== null) return use(connect(env))
  const hub = await startHub({ stateDir, env })
  try {
    return await use(new HubClient({ url: hub.url, key: hub.adminKey }))
  } finally {
    await hub.stop()
  }
}
