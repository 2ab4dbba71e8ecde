import * as z from 'zod'
import { AppError, notFound } from '../../errors'
import type { ActivationId } from '../../ids'
import type { AdminRoute } from '../credentials/admin-route'

const id = z.string().regex(/^[\w-]{1,100}$/, 'is the id of an activation')

/** For runners that let another program work for an agent: what it may show instead of a key. */
export const tokenRoutes: AdminRoute[] = [
  {
    ...{ access: 'admin', status: 200, tag: 'activations', method: 'post' },
    path: '/activations/:id/token',
    summary:
      'A token for /mcp, good for minutes and while the activation runs: its bearer calls tools as the agent (admin)',
    params: { id },
    handle: async ({ deps, params }) => {
      const { hub, tokens, clock, readNarrowing } = deps
      const activationId = (params.id ?? '') as ActivationId
      const found = await hub.findActivation(activationId)
      if (!found)
        throw notFound('activation that runs', 'One that is over or parked needs no tools.')
      const narrowing = await readNarrowing(found.name, found.etag)
      if (!narrowing) {
        throw new AppError('UNAVAILABLE', `The definition of ${found.name} cannot be read.`)
      }
      const claim = { accountId: found.id, activationId, narrowing }
      const { token, expiresAt } = await tokens.issue(claim, clock.now())
      return { token, expires_at: new Date(expiresAt).toISOString() }
    },
  },
]
