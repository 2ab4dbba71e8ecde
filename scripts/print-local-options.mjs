// Prints what a hub on one machine takes from wrangler, in JSON: the bindings of wrangler.toml as Miniflare's
// options, and the migrations as statements. What `.dev.vars` holds stays out, because the result is kept.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  unstable_getMiniflareWorkerOptions,
  unstable_readConfig,
  unstable_splitSqlQuery,
} from 'wrangler'
import { root } from './local-state.mjs'

const config = unstable_readConfig({ config: join(root, 'wrangler.toml') })
const {
  rootPath: _root,
  modulesRules: _rules,
  ...options
} = unstable_getMiniflareWorkerOptions(config).workerOptions
const assets = { binding: config.assets?.binding, directory: config.assets?.directory }
const worker = { ...options, name: config.name, bindings: config.vars, assets }
const files = readdirSync(join(root, 'migrations')).filter((name) => name.endsWith('.sql'))
console.log(JSON.stringify({ worker, migrations: files.sort().map(readMigration) }))

/**
 * @param {string} name
 * @returns {import('./apply-migrations.mjs').Migration}
 */
function readMigration(name) {
  const text = readFileSync(join(root, 'migrations', name), 'utf8')
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { name, sha256, statements: unstable_splitSqlQuery(text) }
}
