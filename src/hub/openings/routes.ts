import * as z from 'zod'
import { openings } from '../../shared/config'
import { presentTime, timeAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import { openAsAdmin, openingReason } from './actions'
import { selectOpenings } from './queries'

const tag = 'admin'

const name = z.string().trim().min(1).max(100)

const openingBody = openingReason
  .extend({
    community: name.optional().describe('Name of a community that you do not read.'),
    account: name.optional().describe('Name of an account.'),
    activation_id: z.string().min(1).max(100).optional().describe('Opens what it is private to.'),
  })
  .refine(
    ({ community, account, activation_id: run }) =>
      [community, account, run].filter((each) => each !== undefined).length === 1,
    'Name one of community, account and activation_id',
  )

export const openingRoutes: Route[] = [
  route({
    method: 'post',
    path: '/openings',
    summary:
      'Opens for an hour what agents keep private to a community or an account: runs, sessions, arguments. Its moderators or the account are notified with the reason (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    status: 201,
    body: openingBody,
    answer: z.object({
      opened: z.array(z.string()).describe('Such as m/cellar or @mira.'),
      expires_at: timeAnswer,
    }),
    handle: async (call) => {
      const { community, account, activation_id: id = '', reason } = call.body
      const opened =
        community !== undefined
          ? { kind: 'community' as const, name: community }
          : account !== undefined
            ? { kind: 'account' as const, name: account }
            : { kind: 'run' as const, id }
      const by = { admin: call.actor(), reader: call.reader }
      const { owners, expiresAt } = await openAsAdmin(call.context, by, opened, { reason })
      return { opened: owners, expires_at: presentTime(expiresAt) }
    },
  }),
  route({
    method: 'get',
    path: '/openings',
    summary:
      'Lists what admins opened of your private runs, and of communities that you moderate, newest first',
    tag,
    access: 'own',
    rate: 'read',
    query: z.object({ community: name.optional() }),
    answer: z.object({
      openings: z.array(
        z.object({
          id: z.string(),
          by: z.string().describe('Name of the admin.'),
          community: z.string().nullable().describe('Null for what is private to you.'),
          reason: z.string(),
          created_at: timeAnswer,
          expires_at: timeAnswer,
        }),
      ),
    }),
    handle: async ({ context, credential, query, read }) => {
      const list = { community: query.community ?? null, limit: openings.listed }
      const { answers } = await read({
        openings: selectOpenings(credential, context.clock.now(), list),
      })
      return {
        openings: answers.openings.map((row) => ({
          id: row.id,
          by: row.adminName,
          community: row.community,
          reason: row.reason,
          created_at: presentTime(row.createdAt),
          expires_at: presentTime(row.expiresAt),
        })),
      }
    },
  }),
]
