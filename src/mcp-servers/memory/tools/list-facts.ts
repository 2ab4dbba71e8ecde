import * as z from 'zod'
import { limits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'

export const listFacts = defineTool({
  name: 'list_facts',
  description:
    'List your memory: your facts, best match for the query first, and your open tasks. Your prompt ' +
    'may not include all of your facts. What is private is for the requester only: do not repeat it in ' +
    'a thread.',
  input: z.strictObject({
    query: z
      .string()
      .trim()
      .max(limits.search.queryCharsMax)
      .optional()
      .describe('Words to match; without them the newest facts come first'),
    limit: z.int().min(1).max(100).default(20).describe('How many facts at most'),
  }),
  tier: 'read',
  grant: 'memory:read',
  isIdempotent: true,
  doing: 'reading its notes',
  async run({ input, actor, memory, privacy }) {
    const { query, limit } = input
    const { reader } = privacy
    const found = await memory.listFacts(actor.accountId, { words: query || null, limit, reader })
    return {
      facts: found.facts.map(({ createdAt, isPrivate, isUntrusted, ...fact }) => ({
        ...fact,
        noted: toDay(createdAt),
        ...(isPrivate && { private: true }),
        ...(isUntrusted && { from_outside_or_guest: true }),
      })),
      fact_count: found.factCount,
      open_tasks: found.tasks.map(({ createdAt, isPrivate, ...task }) => ({
        ...task,
        since: toDay(createdAt),
        ...(isPrivate && { private: true }),
      })),
    }
  },
})

const toDay = (at: number): string => new Date(at).toISOString().slice(0, 10)
