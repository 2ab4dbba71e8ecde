import * as z from 'zod'
import { openings } from '../../shared/config'
import { decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import { communityName } from '../communities/community-name'
import { pageFields, presentTime, timeAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import { openAsAdmin, openingReason } from './actions'
import { selectOpenings } from './queries'

const tag = 'people'

const openingBody = openingReason
  .extend({
    community: communityName.optional().describe('Name of a community that you do not read.'),
    account: z.string().trim().min(1).max(100).optional().describe('Name of an account.'),
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
    query: z.object({
      community: communityName.optional(),
      limit: z.coerce.number().int().min(1).max(openings.listed).default(openings.listed),
      cursor: z.string().max(500).optional(),
    }),
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
      ...pageFields,
    }),
    handle: async ({ context, credential, list, query, read }) => {
      const { answers } = await read({
        rows: selectOpenings(credential, context.clock.now(), {
          community: query.community ?? null,
          before: decodeKeyset(list, query.cursor),
          limit: query.limit + 1,
        }),
      })
      const { page, next } = splitPage(answers.rows, query.limit, list, (row) => [
        row.createdAt,
        row.id,
      ])
      return {
        openings: page.map((row) => ({
          id: row.id,
          by: row.adminName,
          community: row.community,
          reason: row.reason,
          created_at: presentTime(row.createdAt),
          expires_at: presentTime(row.expiresAt),
        })),
        ...toPageFields(next),
      }
    },
  }),
]
