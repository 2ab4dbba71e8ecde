// `npm run check`: everything a machine can say about the code without running it.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { quietWranglerEnv } from './build-worker.mjs'
import { root } from './local-state.mjs'

/** Name, then what to run with this Node: a package's program, or one of our scripts. */
const checks = [
  ['types of src', 'tsc', '--noEmit', '-p', 'tsconfig.json'],
  ['types of tests', 'tsc', '--noEmit', '-p', 'tests/tsconfig.json'],
  ['types of the runner', 'tsc', '--noEmit', '-p', 'runner/tsconfig.json'],
  ['types of scripts', 'tsc', '--noEmit', '-p', 'tsconfig.node.json'],
  ['format and lint', 'biome', 'check', '--error-on-warnings', '--colors=off', '.'],
  ['import arrows', 'scripts/check-arrows.mjs'],
  ['dead code', 'knip', '--no-progress'],
  ['bindings up to date', 'wrangler', 'types', '--include-runtime=false', '--check'],
  ['lockfile for every platform', 'scripts/complete-lockfile.mjs', '--check'],
  ['reference up to date', 'scripts/write-reference.mjs', '--check'],
  ['fields of agents up to date', 'scripts/write-definition-schema.mjs', '--check'],
  ['tools page up to date', 'scripts/write-tools.mjs', '--check'],
  ['client types up to date', 'scripts/write-client-types.mjs', '--check'],
  ['commands page up to date', 'scripts/write-commands.mjs', '--check'],
  ['picture of the floors up to date', 'scripts/draw-floors.mjs', '--check'],
  ['coding agents page up to date', 'runner/matrix/matrix.ts', '--check'],
  ['requirement ids of tests', 'scripts/requirements.mjs', '--check'],
  ['promises of documents', 'scripts/check-promises.mjs'],
  ['migrations', 'scripts/check-migrations.mjs'],
  ['words', 'scripts/check-words.mjs'],
]

const waiting = [...checks]
let failures = 0
await Promise.all(Array.from({ length: availableParallelism() }, work))
console.log(failures === 0 ? 'Everything is in order.' : `${failures} of ${checks.length} failed.`)
process.exitCode = failures === 0 ? 0 : 1

async function work() {
  for (let check = waiting.shift(); check; check = waiting.shift()) {
    const [name, program = '', ...args] = check
    const startedAt = performance.now()
    const { code, output } = await run(program, args)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
    if (code === 0) continue
    failures++
    console.log(output)
  }
}

/**
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function run(program, args) {
  const isScript = /\.m?[jt]s$/.test(program)
  const options = { cwd: root, env: { ...process.env, ...quietWranglerEnv } }
  const child = isScript
    ? spawn(process.execPath, [program, ...args], options)
    : spawn(program, args, { ...options, shell: process.platform === 'win32' })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
