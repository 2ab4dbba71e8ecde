import * as z from 'zod'
import type { KnowledgeChange, PrivateChange } from '../../agents/contract/agents'
import { memoryLimits, privateMemoryLimits, workspaceLimits } from '../../shared/config'
import { decodePositions, encodeCursor, toPageFields } from '../../shared/cursor'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { selectHostedAgent } from '../operations/system-queries'
import { toSeenAgent, viewStatements } from '../runs/session-actions'
import type { Viewer } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

/** Errors of what agents know, as users read them. */
export const knowledgeErrors = {
  agentNotFound: () =>
    notFound('hosted agent', 'Only agents that this hub runs remember something.'),
  notFound: (kind: 'fact' | 'file') =>
    notFound(kind, 'Only the account that the agent keeps it for can share or delete it.'),
  notKnown: (kind: 'fact' | 'task' | 'file') =>
    notFound(kind, 'It may have been deleted already, or be private to somebody else.'),
  notYours: () =>
    new AppError('FORBIDDEN', 'Only admins and the owner of the agent can change this.', {
      hint: 'You can change what is private to you.',
    }),
  peopleOnly: () =>
    new AppError('FORBIDDEN', 'Only people share or delete what an agent keeps for them.', {
      hint: 'Sign in as the person, or use their key.',
    }),
  peopleCorrect: () =>
    new AppError('FORBIDDEN', 'Only people correct and delete what an agent knows.', {
      hint: 'Sign in as an admin or the owner of the agent.',
    }),
  taken: (kind: 'fact' | 'file') =>
    new AppError(
      'CONFLICT',
      kind === 'fact'
        ? 'The agent knows the same text for everybody already.'
        : 'Another file with this path is in the way.',
      {
        hint:
          kind === 'fact' ? 'Delete this one.' : 'Delete one of them, or have the agent rename it.',
      },
    ),
}

/** The page of facts and files that a request asks for: both lists are read side by side, with one cursor. */
export const memoryPageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(privateMemoryLimits.pageMax).default(50),
  cursor: z.string().max(4_000).optional(),
})

interface MemoryPage {
  /** Facts with a smaller id; null: the newest. */
  before: number | null
  /** Files with a greater path; null: the first. */
  after: string | null
  limit: number
}

/** @throws VALIDATION for a cursor of another list */
export function readMemoryPage(
  list: string,
  { limit, cursor }: z.output<typeof memoryPageQuery>,
): MemoryPage {
  const [before = null, after = null] = decodePositions(list, cursor) ?? []
  return { before, after, limit }
}

interface FoundPage {
  facts: { id: number }[]
  hasMoreFacts: boolean
  files: { path: string }[]
  hasMoreFiles: boolean
}

/** Returns the fields that lead to the next page. Of a list that has ended, it has no further row. */
export function toMemoryPageFields(list: string, page: MemoryPage, found: FoundPage) {
  const before = found.facts.at(-1)?.id ?? page.before
  const after = found.files.at(-1)?.path ?? page.after
  const hasMore = found.hasMoreFacts || found.hasMoreFiles
  return toPageFields(hasMore ? encodeCursor(list, [before, after]) : null)
}

export const factText = knownFields({ text: shownText.max(memoryLimits.factCharsMax) })
export const itemId = z.coerce.number().int().min(1)

/** A change of what an agent knows, as a person asks for it. */
export const knowledgeChange = z.discriminatedUnion('change', [
  factText.extend({ change: z.literal('correct_fact'), id: itemId }),
  knownFields({ change: z.literal('delete_fact'), id: itemId }),
  knownFields({ change: z.literal('close_task'), id: itemId }),
  knownFields({
    change: z.literal('delete_file'),
    path: z.string().min(1).max(workspaceLimits.pathCharsMax),
    is_shared: z.union([z.boolean(), z.stringbool()]).default(true),
  }),
])

export type KnowledgeInput = z.output<typeof knowledgeChange>

const itemOf = {
  correct_fact: 'fact',
  delete_fact: 'fact',
  close_task: 'task',
  delete_file: 'file',
} as const

function toChange(input: KnowledgeInput, viewer: Viewer): KnowledgeChange {
  const by = `@${viewer.name}`
  switch (input.change) {
    case 'correct_fact':
      return {
        kind: input.change,
        id: input.id,
        text: input.text,
        source: `corrected by ${by}`,
        isUntrusted: viewer.role === 'guest',
      }
    case 'delete_fact':
      return { kind: input.change, id: input.id }
    case 'close_task':
      return { kind: input.change, id: input.id, note: `closed by ${by}` }
    case 'delete_file':
      return { kind: input.change, path: input.path, isShared: input.is_shared }
  }
}

/**
 * Corrects or deletes what an agent knows: admins and the owner of the agent what everybody's runs read, people
 * what is private to them. What a manager changes is recorded, without its text: it can be private.
 *
 * @throws FORBIDDEN for an agent, whose text would pass as a person's; for what a person does not see or may not change, NOT_FOUND for a manager, CONFLICT when the
 *   agent knows the corrected text already
 */
export async function changeKnowledge(
  context: ActionContext,
  { viewer, reader }: { viewer: Viewer; reader: Reader },
  name: string,
  input: KnowledgeInput,
): Promise<void> {
  const { db, agents } = context
  if (viewer.kind === 'agent') throw knowledgeErrors.peopleCorrect()
  const answers = await batch(db, viewStatements(name, reader))
  const { id, view } = await toSeenAgent(context, viewer, answers)
  // The agent keeps what it knows, so the entry is written before the change.
  if (view.isManager) {
    const after = 'id' in input ? { item: input.id } : { path: input.path }
    const entry = { action: `memory.${input.change}`, targetType: 'account', targetId: id, after }
    await run(db, recordAdminAction(context, viewer.id, entry))
  }
  const outcome = await agents.knowledge.change(id, view, toChange(input, viewer))
  if (outcome === 'missing') {
    throw view.isManager
      ? knowledgeErrors.notKnown(itemOf[input.change])
      : knowledgeErrors.notYours()
  }
  if (outcome === 'taken') throw knowledgeErrors.taken('fact')
}

/** A fact by its id, or a file by its path. */
export const privateItem = z.discriminatedUnion('kind', [
  knownFields({ kind: z.literal('fact'), id: z.coerce.number().int().min(1) }),
  knownFields({
    kind: z.literal('file'),
    path: z.string().min(1).max(workspaceLimits.pathCharsMax),
  }),
])

export const privateChange = z.enum(['share', 'unshare', 'delete'])

type PrivateItemInput = z.output<typeof privateItem>

/**
 * Shares, makes private again or deletes what an agent keeps for the actor alone. The agent keeps who shared
 * it and when, with the item. Doing it again changes nothing.
 *
 * @throws FORBIDDEN for anything but a person, NOT_FOUND for what the agent does not keep for the actor,
 *   CONFLICT when another item is in the way
 */
export async function changePrivateItem(
  { db, agents, log }: ActionContext,
  actor: Actor,
  agentName: string,
  item: PrivateItemInput,
  change: PrivateChange,
): Promise<void> {
  if (actor.kind !== 'human' || actor.activationId !== null) throw knowledgeErrors.peopleOnly()
  const agent = await run(db, selectHostedAgent(agentName))
  if (!agent) throw knowledgeErrors.agentNotFound()
  const { accountId } = actor
  const outcome = await agents.privateMemory.change(agent.accountId, accountId, item, change)
  if (outcome === 'missing') throw knowledgeErrors.notFound(item.kind)
  if (outcome === 'taken') throw knowledgeErrors.taken(item.kind)
  log.info('private memory changed', {
    agent: agent.accountId,
    account: accountId,
    kind: item.kind,
    change,
  })
}
