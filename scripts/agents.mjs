// `npm run agents -- push <folder>` checks and loads an agent's definition; `pull <name> [folder]` brings
// back the one that the hub has.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findAgentName, readDefinition, writeFolder } from '../client/command/definition-folder.ts'
import { connect, demand, pushDefinition } from './hub-client.mjs'
import { findStateDir, PlainError } from './local-state.mjs'
import { PushedVersions } from './pushed-versions.mjs'
import { runCli } from './run-cli.mjs'

const usage =
  'Usage: npm run agents -- push <folder> [--force]\n       npm run agents -- pull <name> [folder] [--force]'

await runCli(async () => {
  const words = process.argv.slice(2)
  const isForced = words.includes('--force')
  const [verb, what, folder, ...rest] = words.filter((word) => word !== '--force')
  if (what === undefined || rest.length > 0) throw new PlainError(usage)
  if (verb === 'push' && folder === undefined) return push(what, isForced)
  if (verb === 'pull') return pull(what, folder ?? join('agents', what), isForced)
  throw new PlainError(usage)
})

function findPushed() {
  return new PushedVersions(findStateDir(process.env), process.env.ROOKERY_URL)
}

/**
 * @param {string} folder
 * @param {boolean} isForced
 */
async function push(folder, isForced) {
  const options = { pushed: findPushed(), isForced, isNew: true }
  const { name, status, isAccepted, problems } = await pushDefinition(
    connect(process.env),
    folder,
    options,
  )
  const isConflict = status === 409
  for (const problem of problems) {
    console.error(isConflict ? problem : `${folder.replace(/\/+$/, '')}/${problem}`)
  }
  if (isConflict) {
    throw new PlainError(
      `${name} is not loaded. Fetch its current version with \`npm run agents -- pull ${name} <folder>\`, or replace it with --force.`,
    )
  }
  if (!isAccepted) throw new PlainError(`${name} is not loaded; the version before stays active.`)
  console.log(`${name} is loaded.`)
}

/**
 * @param {string} name
 * @param {string} folder
 * @param {boolean} isForced
 */
async function pull(name, folder, isForced) {
  const pushed = findPushed()
  const local = existsSync(folder) ? readDefinition(folder) : {}
  const isKnown =
    Object.keys(local).length === 0 || pushed.isUnchanged(findAgentName(folder, local), local)
  if (!isKnown && !isForced) {
    throw new PlainError(
      `${folder} has changes that are not on the hub. Name another folder, or replace them with --force.`,
    )
  }
  const { definition, files } = await demand(
    connect(process.env).call('GET /agents/:name/definition', { params: { name } }),
  )
  if (files === null) {
    throw new PlainError(`The hub no longer has the files of ${name}. Push its folder again.`)
  }
  writeFolder(folder, files)
  pushed.write(name, definition.version, files)
  console.log(`${folder} has version ${definition.version} of ${name}.`)
}
