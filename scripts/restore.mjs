// `npm run restore -- <folder>`: writes a backup into an empty hub.
import { resolve } from 'node:path'
import { withHub } from './backup/open-hub.mjs'
import { restoreBackup } from './backup/restore-backup.mjs'
import { PlainError } from './local-state.mjs'
import { readCredentials } from './read-credentials.mjs'
import { runCli } from './run-cli.mjs'

const usage = 'Usage: npm run restore -- <folder of a backup>'

await runCli(async () => {
  const [folder, ...rest] = process.argv.slice(2)
  if (folder === undefined || rest.length > 0) throw new PlainError(usage)
  const report = (/** @type {string} */ text) => console.log(`  ${text}`)
  await withHub(process.env, async (client) => {
    const { created_at, tables, objects, files } = await restoreBackup(client, resolve(folder), {
      report,
    })
    const rows = tables.reduce((sum, { lines }) => sum + lines, 0)
    console.log(
      `Restored the backup of ${created_at}: ${rows} rows, ${objects.lines} agents, ${files.lines} files. All are as in the backup.`,
    )
    const { sealed } = await readCredentials(client)
    if (sealed.length > 0) {
      console.log(
        `${sealed.length} credentials were encrypted with another key. Set ROOKERY_VAULT_OLD_KEYS to the key of the hub that was backed up.`,
      )
    }
  })
})
