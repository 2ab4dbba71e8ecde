import type { FC } from 'hono/jsx'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

/**
 * Sends the browser on to another service. It is a page and no redirect, because the pages' content
 * security policy lets no form lead to another site.
 */
export const ContinuePage: FC<{ frame: Frame; label: string; url: string }> = (props) => {
  const { frame, label, url } = props
  return (
    <Layout frame={frame} title={`Continue to ${label}`} refreshTo={url}>
      <h1>Continue to {label}</h1>
      <p class="up4">
        <a class="btn go" href={url} rel="noreferrer">
          Continue to {label}
        </a>
      </p>
    </Layout>
  )
}
