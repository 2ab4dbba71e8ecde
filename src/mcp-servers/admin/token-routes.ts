import * as z from 'zod'
import type { ActivationId } from '../../shared/ids'
import { callerErrors } from '../outside/errors'
import type { AdminRoute } from './admin-route'
import { recordAction } from './record-action'

const id = z.string().regex(/^[\w-]{1,100}$/, 'Must be the id of an activation')

/** The route that issues activation tokens, for runners that start another program for an agent. */
export const tokenRoutes: AdminRoute[] = [
  {
    access: 'admin',
    rate: 'write',
    status: 200,
    tag: 'tools',
    method: 'post',
    path: '/activations/:id/token',
    summary:
      'Issues a token for /mcp that is valid for minutes, while the activation runs; its bearer calls tools as the agent (admin)',
    params: { id },
    answer: z.object({ token: z.string(), expires_at: z.iso.datetime() }),
    handle: async ({ deps, admin, params }) => {
      const { hub, tokens, clock, readToolRestrictions } = deps
      const activationId = (params.id ?? '') as ActivationId
      const found = await hub.findActivation(activationId)
      if (!found) throw callerErrors.notRunning()
      const toolRestrictions = await readToolRestrictions(found.name, found.etag)
      if (!toolRestrictions) throw callerErrors.definitionUnreadable(found.name)
      const audience = ['mcp'] as const
      const claim = { accountId: found.id, activationId, audience, attempt: null, toolRestrictions }
      await recordAction(hub, admin, 'activation', 'token', { name: activationId })
      const { token, expiresAt } = await tokens.issue(claim, clock.now())
      return { token, expires_at: new Date(expiresAt).toISOString() }
    },
  },
]
