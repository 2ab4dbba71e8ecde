import { type Hub, type HubOptions, startHub as start } from '../../scripts/hub-runtime.mjs'
import { copyMigratedData } from './migrated-data.ts'

/** Starts a hub for tests that are not about its first start: data that is not there yet is a copy. */
export async function startHub(options: HubOptions): Promise<Hub> {
  await copyMigratedData(options.stateDir)
  return start(options)
}
