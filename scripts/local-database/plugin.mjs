// A plugin of Miniflare: the binding of D1, served by an object of ours (object.worker.js).
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ProxyNodeBinding } from '../miniflare.mjs'

const bindingType = 'unsafe:local-database'
const service = 'local-database'
const storage = 'local-database:storage'
const fetcherModule = 'local-database:fetcher'
/** With this key, and the id of the database as its name, an object opens the file of Miniflare's D1. */
const uniqueKey = 'miniflare-D1DatabaseObject'

/** The binding of the Worker, and the service behind it, that says how much room the disk has. */
export const machineBinding = 'MACHINE'
/** Miniflare's name for what the first Worker's `serviceBindings` bind to a function of Node. */
const machineService = `core:custom-fetch:0:#${machineBinding}`

/** The flag with which a Worker's client of D1 calls its service with values instead of JSON. The binding needs it. */
export const databaseFlag = 'd1_binding_jsrpc'

/** @param {string} file */
const readScript = (file) => readFileSync(new URL(file, import.meta.url), 'utf8')

/**
 * The option of Miniflare that binds `name` to the local database.
 * @param {string} name of the binding
 * @param {string} databaseId
 * @param {string} dataDir
 * @param {boolean} [hasMachine] whether the Worker has the binding `machineBinding`
 */
export const bindLocalDatabase = (name, databaseId, dataDir, hasMachine = false) => ({
  name,
  type: 'local-database',
  plugin: { package: import.meta.filename, name: 'local-database' },
  options: { databaseId, dataDir, hasMachine },
})

/**
 * The database of a runtime that runs, as its Worker sees it.
 * @param {import('miniflare').Miniflare} miniflare
 * @returns {Promise<import('@cloudflare/workers-types').D1Database>}
 */
export async function openDatabase(miniflare) {
  /** @type {{ DB: import('@cloudflare/workers-types').D1Database }} */
  const { DB } = await miniflare.getBindings()
  return DB
}

/**
 * @typedef {{ type: string, dev: { options: { databaseId: string, dataDir: string, hasMachine: boolean } } }} LocalBinding
 * @param {{ config: { env?: Record<string, { type: string }> } }} worker
 * @returns {[name: string, options: LocalBinding['dev']['options']][]}
 */
const findBindings = ({ config: { env = {} } }) =>
  Object.entries(env)
    .filter(([, { type }]) => type === bindingType)
    .map(([name, binding]) => [name, /** @type {LocalBinding} */ (binding).dev.options])

const localDatabase = {
  bindingTypeDescription: 'local database',

  /** @param {Parameters<typeof findBindings>[0]} worker */
  getBindings: (worker) =>
    findBindings(worker).map(([name, { databaseId, hasMachine }]) => ({
      name,
      // The runtime's own client of D1, so that what it answers and throws is the same.
      wrapped: {
        moduleName: 'cloudflare-internal:d1-api',
        innerBindings: [
          {
            name: 'fetcher',
            wrapped: {
              moduleName: fetcherModule,
              innerBindings: [
                {
                  name: 'objects',
                  durableObjectNamespace: { className: 'LocalDatabase', serviceName: service },
                },
                { name: 'name', text: databaseId },
                ...(hasMachine ? [{ name: 'machine', service: { name: machineService } }] : []),
              ],
            },
          },
        ],
      },
    })),

  /** @param {Parameters<typeof findBindings>[0]} worker */
  getNodeBindings: (worker) =>
    Object.fromEntries(findBindings(worker).map(([name]) => [name, new ProxyNodeBinding()])),

  /** @param {{ options: Parameters<typeof findBindings>[0] }} from */
  getServices({ options }) {
    const [first] = findBindings(options)
    if (!first) return []
    const path = join(first[1].dataDir, 'd1')
    mkdirSync(path, { recursive: true })
    return [
      { name: storage, disk: { path, writable: true } },
      {
        name: service,
        worker: {
          compatibilityDate: '2026-06-11',
          modules: [{ name: 'object.worker.js', esModule: readScript('object.worker.js') }],
          durableObjectNamespaces: [
            { className: 'LocalDatabase', uniqueKey, enableSql: true, preventEviction: true },
          ],
          durableObjectStorage: { localDisk: storage },
        },
      },
    ]
  },

  getExtensions: () => [
    {
      modules: [{ name: fetcherModule, esModule: readScript('fetcher.worker.js'), internal: true }],
    },
  ],
}

export const plugins = { 'local-database': localDatabase }
