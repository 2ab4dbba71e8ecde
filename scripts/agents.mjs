// `npm run agents -- push <folder>` checks and loads an agent's definition; `pull <name> [folder]` brings
// back the one that the hub has.
import { join } from 'node:path'
import { pullFolder } from '../client/command/definition-folder.ts'
import { connect, demand, openPushed, pushDefinition } from './hub-client.mjs'
import { PlainError } from './local-state.mjs'
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

/** @param {boolean} isForced */
function toVersions(isForced) {
  return { pushed: openPushed(process.env, process.env.ROOKERY_URL), isForced }
}

/**
 * @param {string} folder
 * @param {boolean} isForced
 */
async function push(folder, isForced) {
  const client = connect(process.env)
  const { name, status, isAccepted, problems } = await demand(
    pushDefinition(client, folder, toVersions(isForced)),
  )
  const isConflict = status === 409
  for (const problem of problems) {
    console.error(isConflict ? problem : `${folder.replace(/\/+$/, '')}/${problem}`)
  }
  if (isConflict) {
    const force = isForced ? '' : ', or replace it with --force'
    throw new PlainError(
      `${name} is not loaded. Fetch its current version with \`npm run agents -- pull ${name} <folder>\`${force}.`,
    )
  }
  if (!isAccepted) {
    const before = await client.try('GET /agents/:name/definition', { params: { name } })
    throw new PlainError(
      before.ok
        ? `${name} is not loaded; the version before stays active.`
        : `${name} is not loaded.`,
    )
  }
  console.log(`${name} is loaded.`)
}

/**
 * @param {string} name
 * @param {string} folder
 * @param {boolean} isForced
 */
async function pull(name, folder, isForced) {
  const pulling = pullFolder(connect(process.env), name, folder, toVersions(isForced))
  const { version } = await demand(pulling)
  console.log(`${folder} has version ${version} of ${name}.`)
}
