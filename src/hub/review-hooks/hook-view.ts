import { apiBase } from '../http/mount-routes'

/** Returns the payload URL of a hook's webhook. @param origin of the hub */
export const toDeliveryUrl = (origin: string, id: string): string =>
  `${origin}${apiBase}/review-hooks/${id}/deliveries`
