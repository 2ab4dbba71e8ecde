import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildWorker } from '../../scripts/build-worker.mjs'
import { migrate, readBundle } from '../../scripts/hub-runtime.mjs'
import { machineBinding } from '../../scripts/local-database/plugin.mjs'
import { Response } from '../../scripts/miniflare.mjs'

/**
 * Builds the Worker and migrates the data of a hub, once for all processes of a run: each would do both anew, which is
 * most of what the first start of a hub costs. The data is kept beside the bundle, and holds no key.
 *
 * @returns where the data is
 */
export async function prepareMigratedData(): Promise<string> {
  const bundlePath = await buildWorker()
  const data = join(bundlePath, 'migrated')
  if (existsSync(data)) return data
  const draft = `${data}.${process.pid}`
  try {
    const runtime = {
      resourcePersistencePath: draft,
      cf: false,
      // the database asks it for its free space
      serviceBindings: { [machineBinding]: () => Response.json({}) },
    }
    await migrate(runtime, readBundle(bundlePath, draft))
    renameSync(draft, data)
  } catch (error) {
    // another process finished the same first
    if (!existsSync(data)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return data
}

/** Gives a hub that was never started data that is migrated, so that its start does not do it. */
export async function copyMigratedData(stateDir: string): Promise<void> {
  const place = join(stateDir, 'data')
  if (existsSync(place)) return
  mkdirSync(place, { recursive: true, mode: 0o700 })
  cpSync(await prepareMigratedData(), place, { recursive: true })
}

/** Vitest calls it before the tests of a project. */
export default async function setup(): Promise<void> {
  await prepareMigratedData()
}
