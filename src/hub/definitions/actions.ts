import type {
  DefinitionCheck,
  DefinitionFacts,
  DefinitionFiles,
} from '../../agents/contract/agents'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { insertAccount, updateAccount } from '../accounts/queries'
import { reservedNames } from '../accounts/reserved-names'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { setDefinitionBudget } from '../budgets/actions'
import { findFailedConstraint } from '../constraint-errors'
import type { Actor } from '../contract/hub'
import { putExplorationStatements } from '../exploration/definition-queries'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { agentWaitStatements } from '../outages/queries'
import { definitionErrors } from './errors'
import {
  type DefinitionRow,
  insertDefinition,
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
      message: `Must be ${name}, but is ${check.facts.name}`,
    })
  }
  if (check.ok && reservedNames.has(name)) {
    problems.push({ path: check.facts.namePath, message: `The name ${name} is reserved` })
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
  const account = await run(db, selectNamedAccount({ name, now: clock.now() }))
  if (!account) return null
  const isAgent = account.kind === 'agent' && !account.isImported
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
    if (existingId || findFailedConstraint(error) !== 'accounts.name') throw error
    // Another request registered the name in between; look up its account again.
    return write(await findAgent(context, name))
  })
  // Wake the agent: it can have unclaimed mentions from before this definition.
  context.defer(wakeAgents(context, [{ accountId: row.agentId }], token))
  if (facts.exploration || facts.schedules.length > 0) context.defer(scheduler.sweepNow())
  return row
}

async function writeDefinition(
  context: ActionContext,
  actor: Actor,
  facts: DefinitionFacts,
  existingId: AccountId | null,
): Promise<DefinitionRow> {
  const { db, clock } = context
  const { name, displayName, description } = facts
  const now = clock.now()
  const id = existingId ?? clock.newId<AccountId>()
  const { definition } = await batch(db, {
    account: existingId
      ? updateAccount(id, { displayName, description })
      : insertAccount({
          id,
          name,
          kind: 'agent',
          role: 'member',
          displayName,
          description,
          createdAt: now,
        }),
    version: insertDefinition({
      accountId: id,
      etag: facts.etag,
      warnings: facts.warnings,
      createdBy: actor.accountId,
      createdAt: now,
    }),
    entry: recordAdminAction(context, actor.accountId, {
      action: 'definition.push',
      targetType: 'account',
      targetId: id,
      after: { etag: facts.etag, schedules: facts.schedules.length, is_new: existingId === null },
    }),
    agent: upsertAgent(id, facts, now),
    exploration: putExplorationStatements(id, facts, now),
    budget: setDefinitionBudget(id, facts.budget.costPerDayMicrousd, now),
    wait: agentWaitStatements(id, now),
    definition: selectDefinition({ name }),
  })
  if (!definition) throw new Error(`The definition of ${name} was written but not found`)
  return definition
}
