import type {
  DefinitionCheck,
  DefinitionFacts,
  DefinitionFiles,
} from '../../agents/contract/agents'
import type { AccountId } from '../../shared/ids'
import { insertAccount, updateAccount } from '../accounts/queries'
import { reservedNames } from '../accounts/reserved-names'
import type { ActionContext } from '../action-context'
import { setDefinitionBudget } from '../budgets/actions'
import type { Actor } from '../contract/hub'
import { putExplorationStatements } from '../exploration/definition-queries'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { definitionErrors } from './errors'
import {
  type DefinitionRow,
  insertDefinition,
  type NamedAccount,
  selectDefinition,
  selectNamedAccount,
  upsertAgent,
} from './queries'

/** Returns the facts of a valid definition; throws INVALID_DEFINITION otherwise. */
function requireValid(check: DefinitionCheck, name: string): DefinitionFacts {
  const problems = check.ok ? [] : check.problems
  if (check.ok && check.facts.name !== name) {
    problems.push({
      path: check.facts.namePath,
      message: `Must be ${name}, but is ${check.facts.name}.`,
    })
  }
  if (check.ok && reservedNames.has(name)) {
    problems.push({ path: check.facts.namePath, message: `The name ${name} is reserved.` })
  }
  if (check.ok && problems.length === 0) return check.facts
  throw definitionErrors.invalid(name, problems)
}

/**
 * Returns the account that the definition belongs to; null when the name is free.
 *
 * @throws CONFLICT for a person, and for an external agent that still has keys: the holder of a key
 *   could otherwise act as the agent
 */
async function findAgent(context: ActionContext, name: string): Promise<AccountId | null> {
  const { db, clock } = context
  const account = await selectNamedAccount(db, name, clock.now()).first<NamedAccount>()
  if (!account) return null
  const isAgent = account.kind === 'agent' && account.isImported === 0
  if (isAgent && (account.isHosted || !account.hasKeys)) return account.id
  throw isAgent ? definitionErrors.externalAgent(name) : definitionErrors.notAnAgent(name)
}

/**
 * Validates a definition and makes it the agent's active version; creates the agent if necessary. The
 * same files again change nothing.
 *
 * @throws INVALID_DEFINITION with file, line and field; the previous version stays active
 */
export async function putDefinition(
  context: ActionContext,
  actor: Actor,
  name: string,
  files: DefinitionFiles,
): Promise<DefinitionRow> {
  const { agents, scheduler } = context
  const facts = requireValid(await agents.checkDefinition(files), name)
  const existingId = await findAgent(context, name)
  await agents.saveDefinition(name, facts.etag, files)
  const write = (id: AccountId | null) => writeDefinition(context, actor, facts, id)
  const token = await armSweep(context)
  const row = await write(existingId).catch(async (error: unknown) => {
    if (existingId || !String(error).includes('accounts.name')) throw error
    // Another request registered the name in between; look up its account again.
    return write(await findAgent(context, name))
  })
  // Wake the agent: it can have unclaimed mentions from before this definition.
  context.defer(wakeAgents(context, [{ accountId: row.agentId }], token))
  if (facts.exploration || facts.schedules.length > 0) context.defer(scheduler.sweepNow())
  return row
}

async function writeDefinition(
  { db, clock }: ActionContext,
  actor: Actor,
  facts: DefinitionFacts,
  existingId: AccountId | null,
): Promise<DefinitionRow> {
  const { name, displayName, description } = facts
  const now = clock.now()
  const id = existingId ?? clock.newId<AccountId>()
  const account = existingId
    ? updateAccount(db, id, { displayName, description })
    : insertAccount(db, { id, name, kind: 'agent', displayName, description, createdAt: now })
  const results = await db.d1.batch<DefinitionRow>([
    account,
    insertDefinition(db, id, facts, actor.accountId, now),
    upsertAgent(db, id, facts, now),
    ...putExplorationStatements(db, id, facts, now),
    ...setDefinitionBudget(db, id, facts.budget.costPerDayMicrousd, now),
    selectDefinition(db, name),
  ])
  const row = results.at(-1)?.results[0]
  if (!row) throw new Error(`The definition of ${name} was written but not found`)
  return row
}
