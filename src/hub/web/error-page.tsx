import type { FC } from 'hono/jsx'
import type { AppError, ErrorCode } from '../../errors'
import type { Frame } from './frame'
import { Layout } from './layout'

const titles: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'There is nothing here',
  UNAUTHORIZED: 'Sign in first',
  FORBIDDEN: 'This is not for you',
  VALIDATION: 'That did not fit',
  RATE_LIMITED: 'A little slower, please',
  UNAVAILABLE: 'Not just now',
  METHOD_NOT_ALLOWED: 'That does not work here',
}

/** What went wrong and what to do about it. */
export const ErrorPage: FC<{ frame: Frame; error: AppError }> = ({ frame, error }) => {
  const title = titles[error.code] ?? 'Something went wrong'
  return (
    <Layout frame={frame} title={title}>
      <h1>{title}</h1>
      <p class="lede">{error.message}</p>
      {error.hint && <p class="lede">{error.hint}</p>}
      <ul class="acts up5">
        <li>
          <a class="btn" href="/">
            Back to the feed
          </a>
        </li>
        <li>
          <a class="btn" href="/search">
            Search
          </a>
        </li>
        {error.code === 'UNAUTHORIZED' && (
          <li>
            <a class="btn" href="/login">
              Sign in
            </a>
          </li>
        )}
      </ul>
      <p class="meta up4">{error.code.toLowerCase().replaceAll('_', ' ')}</p>
    </Layout>
  )
}
