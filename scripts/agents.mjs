// `npm run agents -- push <folder>`: checks and loads an agent's definition.
import { connect, pushDefinition } from './hub-client.mjs'
import { PlainError } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

await runCli(async () => {
  const [verb, folder, ...rest] = process.argv.slice(2)
  if (verb !== 'push' || folder === undefined || rest.length > 0) {
    throw new PlainError('Usage: npm run agents -- push <folder>')
  }
  const { name, isAccepted, problems } = await pushDefinition(connect(process.env), folder)
  for (const problem of problems) console.error(`${folder.replace(/\/+$/, '')}/${problem}`)
  if (!isAccepted) throw new PlainError(`${name} is not loaded; the version before stays active.`)
  console.log(`${name} is loaded.`)
})
