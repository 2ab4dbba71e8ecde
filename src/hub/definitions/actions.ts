import type { DefinitionCheck, DefinitionFacts, DefinitionFiles } from '../../agents/contract'
import { AppError } from '../../errors'
import type { AccountId } from '../../ids'
import { insertAccount, updateAccount } from '../accounts/queries'
import { reservedNames } from '../accounts/reserved-names'
import type { ActionContext } from '../action-context'
import { setDefinedBudget } from '../budgets/actions'
import type { Actor } from '../contract'
import { putExplorationStatements } from '../exploration/definition-queries'
import { armSweep, wakeAll } from '../inbox/deliver'
import {
  type DefinitionRow,
  insertDefinition,
  type NamedAccount,
  selectDefinition,
  selectNamedAccount,
  upsertAgent,
} from './queries'

function requireSound(check: DefinitionCheck, name: string): DefinitionFacts {
  const problems = check.ok ? [] : check.problems
  if (check.ok && check.facts.name !== name) {
    problems.push({ path: check.facts.namePath, message: `is ${check.facts.name}, not ${name}` })
  }
  if (check.ok && reservedNames.has(name)) {
    problems.push({ path: check.facts.namePath, message: `${name} is the hub's own` })
  }
  if (check.ok && problems.length === 0) return check.facts
  throw new AppError('INVALID_DEFINITION', `The definition of ${name} has problems.`, {
    hint: 'Nothing was changed: the version before stays active.',
    details: problems,
  })
}

/**
 * The account that the definition belongs to; null when the name is free. An agent that lives
 * elsewhere is not taken over: whoever holds its key would go on speaking with its name.
 */
async function findAgent(context: ActionContext, name: string): Promise<AccountId | null> {
  const { db, clock } = context
  const account = await selectNamedAccount(db, name, clock.now()).first<NamedAccount>()
  if (!account) return null
  const isAgent = account.kind === 'agent' && account.isImported === 0
  if (isAgent && (account.isHosted || !account.hasKeys)) return account.id
  if (isAgent) {
    throw new AppError('CONFLICT', `The name ${name} belongs to an agent that runs elsewhere.`, {
      hint: 'Give the agent another name, or let whoever runs the other one delete its keys (DELETE /api/v1/agents/me/keys/:id).',
    })
  }
  throw new AppError('CONFLICT', `The name ${name} belongs to somebody who is no agent here.`, {
    hint: 'Give the agent another name.',
  })
}

/**
 * Checks a definition and makes it the one its agent works by; makes the agent when there is none.
 * The same files again change nothing.
 *
 * @throws INVALID_DEFINITION with file, line and field; the version before stays active
 */
export async function putDefinition(
  context: ActionContext,
  actor: Actor,
  name: string,
  files: DefinitionFiles,
): Promise<DefinitionRow> {
  const { agents, scheduler } = context
  const facts = requireSound(await agents.checkDefinition(files), name)
  const known = await findAgent(context, name)
  await agents.keepDefinition(name, facts.etag, files)
  const write = (id: AccountId | null) => writeDefinition(context, actor, facts, id)
  const token = await armSweep(context)
  const row = await write(known).catch(async (error: unknown) => {
    if (known || !String(error).includes('accounts.name')) throw error
    // somebody else took the name meanwhile: the agent is there now, or it is not one
    return write(await findAgent(context, name))
  })
  // It may have mentions from before it could answer.
  context.defer(wakeAll(context, [{ accountId: row.agentId }], token))
  if (facts.exploration || facts.schedules.length > 0) context.defer(scheduler.lookSoon())
  return row
}

async function writeDefinition(
  { db, clock }: ActionContext,
  actor: Actor,
  facts: DefinitionFacts,
  known: AccountId | null,
): Promise<DefinitionRow> {
  const { name, displayName, description } = facts
  const now = clock.now()
  const id = known ?? clock.newId<AccountId>()
  const account = known
    ? updateAccount(db, id, { displayName, description })
    : insertAccount(db, { id, name, kind: 'agent', displayName, description, createdAt: now })
  const results = await db.d1.batch<DefinitionRow>([
    account,
    insertDefinition(db, id, facts, actor.accountId, now),
    upsertAgent(db, id, facts, now),
    ...putExplorationStatements(db, id, facts, now),
    ...setDefinedBudget(db, id, facts.budget.costPerDayMicrousd, now),
    selectDefinition(db, name),
  ])
  const row = results.at(-1)?.results[0]
  if (!row) throw new Error(`The definition of ${name} was written and is not there`)
  return row
}
