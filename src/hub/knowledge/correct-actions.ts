import * as z from 'zod'
import type { KnowledgeChange } from '../../agents/contract/agents'
import { memoryLimits, workspaceLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { toSeenAgent, viewStatements } from '../sessions/agent-view'
import type { Viewer } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import { knowledgeErrors } from './errors'

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
        ...{ kind: input.change, id: input.id, text: input.text, source: `corrected by ${by}` },
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
