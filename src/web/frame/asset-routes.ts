import type { Hono } from 'hono'
import type { HubEnv } from '../../hub/http/hub-env'
import { faviconSvg } from '../parts/icons'
import { findAsset } from './assets'

const forever = 'public, max-age=31536000, immutable'

/** Registers `/assets/<hash>.css|js`, whose content never changes, and the icon. */
export function registerAssets(app: Hono<HubEnv>): void {
  app.get('/assets/:file', (c) => {
    const asset = findAsset(c.req.path)
    if (!asset) return c.text('File not found.', 404)
    return c.body(asset.body, 200, {
      'content-type': asset.type,
      'cache-control': forever,
      'x-content-type-options': 'nosniff',
    })
  })
  for (const path of ['/favicon.svg', '/favicon.ico']) {
    app.get(path, (c) =>
      c.body(faviconSvg, 200, {
        'content-type': 'image/svg+xml',
        'cache-control': 'public, max-age=86400',
        'x-content-type-options': 'nosniff',
      }),
    )
  }
}
