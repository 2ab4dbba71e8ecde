// `npm run audit-budgets [-- --repair]`: whether what budgets counted is what usage says.
import { connect, demand } from './hub-client.mjs'
import { PlainError } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

await runCli(async () => {
  const [option, ...rest] = process.argv.slice(2)
  if ((option !== undefined && option !== '--repair') || rest.length > 0) {
    throw new PlainError('Usage: npm run audit-budgets [-- --repair]')
  }
  const hub = connect(process.env)
  const { differences } = await demand(hub.call('GET /budgets/audit'))
  for (const each of differences) console.log(describe(each))
  if (differences.length === 0) console.log('Every budget counted what usage says.')
  else if (option === '--repair') {
    const { repaired } = await demand(hub.call('POST /budgets/audit/repair'))
    console.log(`${repaired.length} windows now say what usage says.`)
  } else {
    throw new PlainError(`${differences.length} windows differ. --repair writes what usage says.`)
  }
})

/** @param {Record<string, any>} each a window that differs */
function describe(each) {
  const whose = [each.scope, each.scope_id, each.account_id].filter(Boolean).join(' ')
  return (
    `${each.budget_id} (${whose}) from ${each.starts_at}: ` +
    `counted ${each.counted_microusd} micro-dollars and ${each.counted_tokens} tokens, ` +
    `usage says ${each.events_microusd} and ${each.events_tokens}`
  )
}
