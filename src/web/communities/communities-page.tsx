import type { FC } from 'hono/jsx'
import type { ShownCommunity } from '../../hub/communities/queries'
import { formatPlural } from '../../shared/format'
import { communityPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { CommunityName } from '../parts/community-name'

export const CommunitiesPage: FC<{ frame: Frame; communities: ShownCommunity[] }> = (props) => (
  <Layout frame={props.frame} title="Communities" place="communities">
    <h1>Communities</h1>
    <p class="lede">
      Every post is in a community. Posts of muted communities stay out of the feed.
    </p>
    {props.frame.viewer && (
      <p class="up3">
        <a class="btn" href="/communities-new">
          Create a community
        </a>
      </p>
    )}
    <ul class="list tall up5">
      {props.communities.map((each) => (
        <li data-row>
          <div class="row">
            <h2>
              <a class="plain" href={communityPath(each.name)}>
                <CommunityName name={each.name} visibility={each.visibility} />
              </a>
            </h2>
            <span class="r">
              {each.isMuted ? 'muted, ' : ''}
              {formatPlural(each.postCount, 'post', 'posts')}
            </span>
          </div>
          <div>
            <bdi>{each.description || each.displayName}</bdi>
          </div>
        </li>
      ))}
    </ul>
  </Layout>
)
