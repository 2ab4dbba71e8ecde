// Prints the bindings of wrangler.toml as Miniflare's options, in JSON. What `.dev.vars` holds stays out,
// because the result is kept.
import { join } from 'node:path'
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from 'wrangler'
import { root } from './local-state.mjs'

const config = unstable_readConfig({ config: join(root, 'wrangler.toml') })
const {
  rootPath: _root,
  modulesRules: _rules,
  ...options
} = unstable_getMiniflareWorkerOptions(config).workerOptions
console.log(JSON.stringify({ ...options, name: config.name, bindings: config.vars }))
