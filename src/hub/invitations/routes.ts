import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { createInvitation, invitationInput, requireInviter, withdrawInvitation } from './actions'
import { findInvitationState, invitationStates } from './invitation-state'
import { selectInvitations } from './queries'

const tag = 'invitations'
const listMax = 200
const roleAnswer = invitationInput.shape.role.unwrap()

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
    summary: `Lists the last ${listMax} invitations: all of them for admins, otherwise your own`,
    tag,
    access: 'write',
    rate: 'read',
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
    }),
    handle: async (call) => {
      const { context } = call
      const viewer = call.viewer()
      requireInviter(context, viewer)
      const by = viewer.role === 'admin' ? null : viewer.id
      const rows = await run(context.db, selectInvitations(by, listMax))
      return {
        invitations: rows.map((row) => ({
          id: row.id,
          state: findInvitationState(row, context.clock.now()),
          role: row.role,
          note: row.note,
          created_by: row.createdBy,
          created_at: presentTime(row.createdAt),
          expires_at: presentTime(row.expiresAt),
          used_by: row.usedBy,
        })),
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
