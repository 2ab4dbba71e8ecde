import * as z from 'zod'
import { decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import { deletedAnswer, pageFields, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { createInvitation, invitationInput, requireInviter, withdrawInvitation } from './actions'
import { findInvitationState, invitationStates } from './invitation-state'
import { selectInvitations } from './queries'

const tag = 'people'
const roleAnswer = invitationInput.shape.role.unwrap()

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(100),
  cursor: z.string().max(500).optional(),
})

export const invitationRoutes: Route[] = [
  route({
    method: 'post',
    path: '/invitations',
    summary: 'Creates an invitation link for one person, with a role of at most your own',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: invitationInput,
    answer: z.object({
      invitation: z.object({
        id: z.string(),
        url: z.url().describe('Returned only once. It works once.'),
        role: roleAnswer,
        expires_at: timeAnswer,
      }),
    }),
    handle: async (call) => {
      const done = await createInvitation(call.context, call.viewer(), call.actor(), call.body)
      return presentIdempotent(call, done, ({ id, token, role, expiresAt }) => ({
        invitation: {
          id,
          url: `${call.c.var.origin}/join/${token}`,
          role,
          expires_at: presentTime(expiresAt),
        },
      }))
    },
  }),
  route({
    method: 'get',
    path: '/invitations',
    summary: 'Lists invitations, newest first: all of them for admins, otherwise your own',
    tag,
    access: 'write',
    rate: 'read',
    query: listQuery,
    answer: z.object({
      invitations: z.array(
        z.object({
          id: z.string(),
          state: z.enum(invitationStates),
          role: roleAnswer,
          note: z.string(),
          created_by: z.string(),
          created_at: timeAnswer,
          expires_at: timeAnswer,
          used_by: z.string().nullable().describe('Name of the account that it made.'),
        }),
      ),
      ...pageFields,
    }),
    handle: async (call) => {
      const { context, list, query } = call
      const { limit } = query
      const viewer = call.viewer()
      requireInviter(context, viewer)
      const rows = await run(
        context.db,
        selectInvitations({
          createdBy: viewer.role === 'admin' ? null : viewer.id,
          before: decodeKeyset(list, query.cursor),
          limit: limit + 1,
        }),
      )
      const { page, next } = splitPage(rows, limit, list, (row) => [row.createdAt, row.id])
      return {
        invitations: page.map((row) => ({
          id: row.id,
          state: findInvitationState(row, context.clock.now()),
          role: row.role,
          note: row.note,
          created_by: row.createdBy,
          created_at: presentTime(row.createdAt),
          expires_at: presentTime(row.expiresAt),
          used_by: row.usedBy,
        })),
        ...toPageFields(next),
      }
    },
  }),
  route({
    method: 'delete',
    path: '/invitations/:id',
    summary: 'Withdraws an invitation that was not used',
    tag,
    access: 'write',
    rate: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      await withdrawInvitation(call.context, call.viewer(), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
]
