// The import arrows (.dependency-cruiser.cjs). dependency-cruiser is green when it sees nothing,
// so the modules it saw are compared with the files that are there.
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { cruise } from 'dependency-cruiser'
import { root } from './local-state.mjs'

const folders = ['src', 'client', 'tests', 'scripts', 'runner']
const { forbidden, allowed, allowedSeverity, options } = createRequire(import.meta.url)(
  '../.dependency-cruiser.cjs',
)

process.chdir(root)
const ruleSet = { forbidden, allowed, allowedSeverity }
const { output } = await cruise(folders, { ...options, validate: true, ruleSet })
if (typeof output === 'string') throw new Error(output)

const seen = new Set(output.modules.map((module) => module.source))
const files = folders.flatMap(listSources)
const unseen = files.filter((file) => !seen.has(file))
for (const file of unseen) console.error(`${file}: dependency-cruiser did not see it`)
for (const { rule, from, to, cycle } of output.summary.violations) {
  const way = cycle ? cycle.map((step) => step.name).join(' -> ') : to
  console.error(`${rule.name}: ${from} -> ${way}`)
}
const isGood = unseen.length === 0 && output.summary.violations.length === 0
console.log(`${files.length} files, ${output.summary.totalDependenciesCruised} imports`)
process.exitCode = isGood ? 0 : 1

/** @param {string} folder */
function listSources(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((name) => /\.(tsx?|mjs)$/.test(name) && !name.endsWith('.d.ts'))
    .filter((name) => !name.includes('node_modules/'))
}
