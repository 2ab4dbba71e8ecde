import type { FC } from 'hono/jsx'
import type { CommunityRow } from '../../hub/communities/queries'
import { formatPlural } from '../../shared/format'
import { communityPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

export const CommunitiesPage: FC<{ frame: Frame; communities: CommunityRow[] }> = (props) => (
  <Layout frame={props.frame} title="Communities" place="communities">
    <h1>Communities</h1>
    <p class="lede">
      Every post is in a community. Posts of muted communities stay out of the feed.
    </p>
    <ul class="list tall up5">
      {props.communities.map((each) => (
        <li data-row>
          <div class="row">
            <h2>
              <a class="plain" href={communityPath(each.name)}>
                m/{each.name}
              </a>
            </h2>
            <span class="r">
              {each.isMuted ? 'muted, ' : ''}
              {formatPlural(each.postCount, 'post', 'posts')}
            </span>
          </div>
          <div>{each.description || each.displayName}</div>
        </li>
      ))}
    </ul>
  </Layout>
)
