// Statistics on their way from a worker's report to the rows that people read.

#include <gmock/gmock.h>

#include <cmath>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class StatisticsTest : public CoordinatorTest {
 protected:
  StatisticsTest() {
    EXPECT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
    EXPECT_TRUE(Register("w", "w1").ok());
    lease_ = **Acquire("w1");
  }
  AttemptRef Mine() const { return Ref(lease_, "w1"); }

  /// One row of each kind, with `value` in each.
  static StatisticsRecord All(int64_t step, double value) {
    StatisticsRecord record{.step = step, .tokens = step * 10};
    record.frequency_norms.push_back({1, "k", 2, {value, 2}, {value, 4}});
    record.logit_shares.push_back({1, 2, {value, 3}, {value, 1}, {0, 2}});
    record.head_scores.push_back({1, 2, value, 0.25, 0.125, 1.5, 20});
    record.token_norms.push_back({1, "q", 2, {{value, 2}, {3, 4}}});
    record.attention_maps.push_back({1, 2, {{value, 0}, {0.5, 0.5}}});
    record.document_losses.push_back({"austen", {3, 4}, {value, 2.5}});
    return record;
  }
  std::string Rows() {
    std::string rows;
    for (const char* table : {"frequency_norms", "logit_shares", "head_scores", "token_norms",
                              "attention_maps", "document_losses"}) {
      rows += Sql(std::string("SELECT * FROM ") + table + " ORDER BY step") + "\n";
    }
    return rows;
  }

  LeaseReply lease_;
};

TEST_F(StatisticsTest, EachKindHasItsTable) {
  ASSERT_TRUE(Report(Mine(), 1, {{"m", 3, 30, 1.0}}, "cpu", {All(3, 1.5)}).ok());
  EXPECT_EQ(Rows(),
            "1|NULL|3|30|1|k|2|[1.5, 2]|[1.5, 4]|1\n"
            "1|NULL|3|30|1|2|[1.5, 3]|[0.3333333, 0.6666667]|[1.5, 1]|[0, 2]|1\n"
            "1|NULL|3|30|1|2|1.5|0.25|0.125|1.5|20.0|1\n"
            "1|NULL|3|30|1|q|2|[[1.5, 2], [3, 4]]|1\n"
            "1|NULL|3|30|1|2|[[1.5, 0], [0.5, 0.5]]|1\n"
            "1|NULL|austen|3|30|[3, 4]|[1.5, 2.5]|1\n");
  EXPECT_EQ(Sql("SELECT step, value FROM points"), "3|1.0");
}

TEST_F(StatisticsTest, WhatIsNotFiniteIsNullAndNothingHasAShareOfNothing) {
  StatisticsRecord record = All(3, std::nan(""));
  record.logit_shares.push_back({1, 3, {0, 0}, {0, 0}, {0, 0}});
  record.head_scores.push_back({1, 3, 0, INFINITY, 0, 0, 0});
  ASSERT_TRUE(Report(Mine(), 1, {}, "cpu", {record}).ok());
  EXPECT_EQ(Rows(),
            "1|NULL|3|30|1|k|2|[null, 2]|[null, 4]|1\n"
            "1|NULL|3|30|1|2|[null, 3]|[null, null]|[null, 1]|[0, 2]|1; "
            "1|NULL|3|30|1|3|[0, 0]|[null, null]|[0, 0]|[0, 0]|1\n"
            "1|NULL|3|30|1|2|NULL|0.25|0.125|1.5|20.0|1; "
            "1|NULL|3|30|1|3|0.0|NULL|0.0|0.0|0.0|1\n"
            "1|NULL|3|30|1|q|2|[[null, 2], [3, 4]]|1\n"
            "1|NULL|3|30|1|2|[[null, 0], [0.5, 0.5]]|1\n"
            "1|NULL|austen|3|30|[3, 4]|[null, 2.5]|1\n");
  EXPECT_EQ(Sql("SELECT head, kind FROM head_census ORDER BY head"), "2|NULL; 3|NULL");
}

TEST_F(StatisticsTest, ABatchCountsOnceAndALaterAttemptReplaces) {
  ASSERT_TRUE(Report(Mine(), 1, {}, "cpu", {All(3, 1.5), All(4, 1.5)}).ok());
  const std::string once = Rows();
  ASSERT_TRUE(Report(Mine(), 1, {}, "cpu", {All(3, 7), All(9, 7)}).ok());  // as if sent again
  EXPECT_EQ(Rows(), once);

  ASSERT_TRUE(Register("w", "w2").ok());  // it was killed
  const LeaseReply next = **Acquire("w2");
  ASSERT_EQ(next.attempt, 2);
  EXPECT_EQ(Report(Mine(), 2, {}, "cpu", {All(4, 8)}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(Rows(), once);
  ASSERT_TRUE(Report(Ref(next, "w2"), 1, {}, "cpu", {All(4, 1.75)}).ok());
  EXPECT_EQ(Sql("SELECT step, diagonal, attempt FROM head_scores ORDER BY step"),
            "3|1.5|1; 4|1.75|2");
  EXPECT_EQ(Sql("SELECT step, nats, attempt FROM document_losses ORDER BY step"),
            "3|[1.5, 2.5]|1; 4|[1.75, 2.5]|2");
}

// The parts of one step may come in several records.
TEST_F(StatisticsTest, ARecordReplacesOnlyTheRowsThatItHas) {
  StatisticsRecord scores{.step = 3, .tokens = 30}, losses{.step = 3, .tokens = 30};
  scores.head_scores = {{0, 0, 0.5}, {0, 1, 0.25}};
  losses.document_losses = {{"austen", {1}, {2}}, {"gcide", {1}, {3}}};
  ASSERT_TRUE(Report(Mine(), 1, {}, "cpu", {scores}).ok());
  ASSERT_TRUE(Report(Mine(), 2, {}, "cpu", {losses}).ok());
  EXPECT_EQ(Sql("SELECT head, diagonal FROM head_scores ORDER BY head"), "0|0.5; 1|0.25");
  EXPECT_EQ(Sql("SELECT validation_set, nats FROM document_losses ORDER BY 1"),
            "austen|[2]; gcide|[3]");
}

TEST_F(StatisticsTest, ABatchWithAWrongPointLeavesNoStatistics) {
  const Status status = Report(Mine(), 1, {{"", 3, 30, 1.0}}, "cpu", {All(3, 1.5)}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("a point needs a metric"));
  EXPECT_EQ(Sql("SELECT count(*) FROM head_scores"), "0");
  EXPECT_TRUE(Report(Mine(), 1, {{"m", 3, 30, 1.0}}, "cpu", {All(3, 1.5)}).ok());
}

}  // namespace
}  // namespace gyre
