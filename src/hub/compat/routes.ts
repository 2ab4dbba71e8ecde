import type { Route } from '../http/route'
import { moderatorAliasRoutes } from './moderator-routes'
import { serviceRoutes } from './service/routes'

/** Routes that are there for existing clients alone. */
export const compatRoutes: Route[] = [...serviceRoutes, ...moderatorAliasRoutes]
