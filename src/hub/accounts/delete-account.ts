import * as z from 'zod'
import { batch } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { canEditAgent } from '../agents/definition-rules'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry } from '../database/admin-log-queries'
import { refuseItemsFor } from '../inbox/stop-queries'
import { deleteMediaOf } from '../media/queries'
import { selectHostedAgent } from '../operations/system-queries'
import { deleteLanes, endLanes } from '../replays/deletion'
import { deleteReplays, selectGoneLanes } from '../replays/queries'
import {
  deleteCasesWithWords,
  deleteSets,
  goneSetsSql,
  selectLanesOfSets,
} from '../trials/set-queries'
import { deleteTrialsOf } from '../trials/trial-queries'
import type { Viewer } from '../viewers/queries'
import {
  type AffectedRun,
  affectedRunsSql,
  deleteProfile,
  deleteWords,
  selectAffectedRuns,
  selectThreads,
} from './delete-queries'
import {
  cancelRuns,
  endReading,
  findTarget,
  peopleErrors,
  renameInPolicies,
  toEntry,
} from './people-actions'
import { deleteSessionsOfOwned, selectPolicyLines } from './people-queries'
import { type AccountRow, selectAccountByName } from './queries'

export const deletionInput = z.object({
  words: z
    .enum(['keep', 'remove'])
    .describe('Whether posts, comments and messages stay, by a deleted account.'),
})

interface Deletion {
  /** What one action cannot reach, for the admin, as sentences. */
  remains: string[]
}

/** Who deletes an account. */
type Deleter = Pick<Viewer, 'id' | 'kind' | 'role'>

/**
 * Deletes an account as an admin, or an agent of this hub as the member who owns it. What the agent wrote
 * stays then, because others answered it.
 *
 * @throws FORBIDDEN, and as `deleteAccount`
 */
export async function deleteAsOwner(
  context: ActionContext,
  viewer: Deleter,
  actor: Actor,
  name: string,
  input: z.output<typeof deletionInput>,
): Promise<Deletion> {
  if (viewer.role !== 'admin') {
    const { account, agent } = await batch(context.db, {
      account: selectAccountByName({ name }),
      agent: selectHostedAgent(name),
    })
    if (!agent || !account || !canEditAgent(viewer, account.ownerId)) throw peopleErrors.notYours()
    if (input.words === 'remove') throw peopleErrors.wordsByAdmin()
  }
  return deleteAccount(context, actor, name, input)
}

/**
 * Deletes an account: its name is free, its profile is empty, and its keys, sessions, places and grants
 * are gone. The services where it connected accounts are asked to revoke the tokens. Its words stay by a deleted account, or go, also from search, traces, and the memory of
 * agents. The id stays, for budgets and the logs.
 *
 * @throws NOT_FOUND, FORBIDDEN for the admin's own account and for accounts of the hub itself
 */
export async function deleteAccount(
  context: ActionContext,
  actor: Actor,
  name: string,
  { words }: z.output<typeof deletionInput>,
): Promise<Deletion> {
  const account = await findTarget(context, actor.accountId, name)
  const { db, clock } = context
  const now = clock.now()
  const goes = words === 'remove'
  const sets = goneSetsSql(account.id, goes)
  const { policies, runs, threads, ...found } = await batch(db, {
    policies: selectPolicyLines(),
    runs: goes ? selectAffectedRuns(account) : null,
    threads: goes ? selectThreads(account.id) : null,
    lanes: selectGoneLanes(account.id, goes ? affectedRunsSql(account) : null),
    lanesOfSets: selectLanesOfSets(sets),
  })
  const lanes = [...found.lanes, ...found.lanesOfSets]
  // Before its profile goes, so that what runs for it is still found.
  await cancelRuns(context, actor, account.id)
  await endLanes(context, lanes)
  const { connected } = await endReading(context, account.id, () =>
    batch(db, {
      ...context.connected.takeOf(account.id),
      entry: insertAdminEntry(
        toEntry(context, actor, account, { action: 'account.delete', after: { words } }),
      ),
      refused: refuseItemsFor(account.id),
      agents: deleteSessionsOfOwned(account.id),
      lines: renameInPolicies(policies, account.name, null),
      // Before the traces, by which runs are found, and before the replays of trials.
      casesWithWords: goes ? deleteCasesWithWords(account.id, affectedRunsSql(account)) : null,
      ...deleteTrialsOf(account.id, goes ? affectedRunsSql(account) : null, lanes),
      ...deleteSets(sets),
      ...(goes ? mapKeys({ ...deleteWords(account, now), ...deleteMediaOf(account.id, now) }) : {}),
      ...deleteReplays(lanes),
      ...deleteProfile(account.id, now),
    }),
  )
  context.defer(connected())
  context.defer(deleteLanes(context, lanes))
  const unreachable = goes
    ? await deleteFromAgents(
        context,
        account,
        runs ?? [],
        (threads ?? []).map(({ id }) => id),
      )
    : []
  const keepsFiles = goes && !(await deleteFiles(context, account.id))
  return { remains: listRemains({ goes, keepsFiles, unreachable }) }
}

/** Prefixes names of statements, which those of the profile have too. */
const mapKeys = <Value>(statements: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(statements).map(([name, value]) => [`words.${name}`, value]))

/** Deletes texts from the agents' own storage. Returns the agents that could not be reached. */
async function deleteFromAgents(
  { agents, log }: ActionContext,
  { id }: Pick<AccountRow, 'id'>,
  runs: AffectedRun[],
  threads: string[],
): Promise<AccountId[]> {
  const byAgent = Map.groupBy(runs, ({ agentId }) => agentId)
  const failed: AccountId[] = []
  for (const [agentId, own] of byAgent) {
    const isOwn = agentId === id
    const request = { accountId: id, isOwn, threads, runs: own.map(toRun) }
    await agents.deleteTexts(agentId, request).catch((error: unknown) => {
      log.error('failed to delete texts from an agent', { agent: agentId, error })
      failed.push(agentId)
    })
  }
  return failed
}

/** Deletes what agents keep in the bucket for the account. Returns false when that failed. */
const deleteFiles = ({ agents, log }: ActionContext, id: AccountId): Promise<boolean> =>
  agents.deleteFiles(id).then(
    () => true,
    (error: unknown) => {
      log.error('failed to delete files of an account', { account: id, error })
      return false
    },
  )

const toRun = ({ id, startedAt, finishedAt }: AffectedRun) => ({ id, startedAt, finishedAt })

function listRemains({
  goes,
  keepsFiles,
  unreachable,
}: {
  goes: boolean
  keepsFiles: boolean
  unreachable: AccountId[]
}): string[] {
  const always = ['Backups of the database and of the bucket keep what they have.']
  if (!goes) return ['Its posts, comments and messages stay, by a deleted account.', ...always]
  return [
    'Logs keep the id of the account, without words.',
    'Posts and replies of others, also of agents, stay as they wrote them, even where they quote it.',
    'Files and long results that agents saved in runs for everybody stay.',
    ...(keepsFiles ? ['Files that agents keep for it could not be deleted. Delete it again.'] : []),
    ...always,
    ...(unreachable.length > 0
      ? [`${unreachable.length} agents could not be reached; their memory can still quote it.`]
      : []),
  ]
}
