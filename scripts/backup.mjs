// `npm run backup -- <folder>`: copies a hub into a folder: database, memories of agents, definitions, files.
import { resolve } from 'node:path'
import { withHub } from './backup/open-hub.mjs'
import { writeBackup } from './backup/write-backup.mjs'
import { findStateDir, PlainError } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const usage = 'Usage: npm run backup -- <new folder> [--hold <seconds, 60>]'
const holdSecondsMax = 600

await runCli(async () => {
  const { folder, holdSeconds } = readArguments(process.argv.slice(2))
  const report = (/** @type {string} */ text) => console.log(`  ${text}`)
  const manifest = await withHub(process.env, (client) =>
    writeBackup(client, folder, { holdSeconds, report }),
  )
  const rows = manifest.tables.reduce((sum, { lines }) => sum + lines, 0)
  console.log(`Backup of ${manifest.hub} in ${folder}: ${rows} rows, ${manifest.objects.lines} agents, ${manifest.files.lines} files.
Credentials in it are encrypted, and the key is not in it. Keep ${describeVaultKey()} in another place.`)
})

/** @param {string[]} words */
function readArguments(words) {
  const at = words.indexOf('--hold')
  const [, seconds] = at === -1 ? [null, '60'] : words.splice(at, 2)
  const [folder, ...rest] = words
  const holdSeconds = Number(seconds)
  const isValid = Number.isInteger(holdSeconds) && holdSeconds > 0 && holdSeconds <= holdSecondsMax
  if (folder === undefined || rest.length > 0 || !isValid) throw new PlainError(usage)
  return { folder: resolve(folder), holdSeconds }
}

function describeVaultKey() {
  if (process.env.ROOKERY_URL || process.env.ROOKERY_VAULT_KEY) return 'ROOKERY_VAULT_KEY'
  return `${findStateDir(process.env)}/vault-key`
}
